"""The paper's inertia for Box actions against an independent NumPy computation."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from policy_inertia.actions.box import Point
from policy_inertia.actions.gaussian import Mixture
from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.algorithms.controllers.box_inertia import BoxInertiaConfig
from policy_inertia.errors import InputError
from tests.algorithms.box_reference import SPEC, batch, drawn, gaussian, network, twins

CORE = BoxSACConfig(hidden=(7,), temperature=0.3, auto_temperature=False)
ALPHA, GATE = 0.3, 0.5


def mu_of(pic: Any, obs: Any, prev: np.ndarray) -> np.ndarray:
    known = ~np.isnan(prev).all(1, keepdims=True)
    x = np.concatenate([obs, np.where(known, prev, 0), known], 1).astype(float)
    return known * (np.tanh(network(pic, x)) + 1) / 2


def entropy(mu: np.ndarray) -> np.ndarray:
    return stats.bernoulli(mu).entropy()


@pytest.mark.parametrize("each", [False, True])
def test_update_of_the_controller_is_that_of_numpy(each: bool) -> None:
    config = BoxInertiaConfig(
        core=CORE, hidden=(7,), temperature=GATE, auto_temperature=False, per_dimension=each
    )
    algorithm = config.build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), batch()
    prev = np.array(rows.prev_action)
    prev[0] = np.nan  # an episode starts
    rows = rows._replace(prev_action=prev)
    after, losses, _ = algorithm.update(state, rows, np.ones(2, bool))
    inner, core = state.controller, after.core  # the core is improved first
    noise = drawn(inner.key, 4)
    # the critics
    action, log_pi = gaussian(core.actor, rows.next_obs, noise[0], total=False)
    mu = mu_of(inner.pic, rows.next_obs, np.array(rows.action))
    value = lambda critics, obs, a: twins(critics, obs, a).min(0)  # noqa: E731
    target = inner.critics.target
    if each:
        repeats = stats.norm.cdf(noise[1]) < mu
        taken = np.where(repeats, rows.action, action)
        v = value(target, rows.next_obs, taken) - ALPHA * (log_pi * ~repeats).sum(1)
    else:
        follow = value(target, rows.next_obs, action) - ALPHA * log_pi.sum(1)
        v = mu[:, 0] * value(target, rows.next_obs, rows.action) + (1 - mu[:, 0]) * follow
    v = v + GATE * entropy(mu).sum(1)
    error = twins(inner.critics.online, rows.obs, rows.action) - (rows.reward + rows.discount * v)
    assert losses["mixed_critic_loss"] == pytest.approx((0.5 * error**2).mean(1).sum(), rel=1e-4)
    # mu, by its closed form
    action, log_pi = gaussian(core.actor, rows.obs, noise[2], total=False)
    mu, online = mu_of(inner.pic, rows.obs, prev), after.controller.critics.online
    last = np.nan_to_num(prev)
    if each:
        others = np.where(stats.norm.cdf(noise[3]) < mu, last, action)
        gain = np.zeros((len(last), 2))
        for i in (0, 1):
            repeat, follow = others.copy(), others.copy()
            repeat[:, i], follow[:, i] = last[:, i], action[:, i]
            gain[:, i] = value(online, rows.obs, repeat) - value(online, rows.obs, follow)
        gain += ALPHA * log_pi
    else:
        follow = value(online, rows.obs, action) - ALPHA * log_pi.sum(1)
        gain = (value(online, rows.obs, last) - follow)[:, None]
    best = 1 / (1 + np.exp(-gain / GATE))
    known = np.ones((len(last), 1))
    known[0] = 0
    x = np.concatenate([rows.obs, last, known], 1).astype(float)
    logit = 2 * network(inner.pic, x)
    fit = (known * (np.logaddexp(0, logit) - best * logit)).mean()
    assert losses["pic_loss"] == pytest.approx(fit, rel=1e-4)


def test_core_learns_as_it_would_alone() -> None:
    config = BoxInertiaConfig(core=CORE, hidden=(7,))
    nested, alone = config.build(SPEC), CORE.build(SPEC)
    rows = batch()
    state = nested.init(np.random.default_rng(1))
    after = nested.update(state, rows, np.ones(2, bool)).state.core
    own = alone.update(alone.init(np.random.default_rng(1)), rows, np.ones(1, bool)).state
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(own), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_inertia_is_nothing_at_the_start_and_in_the_middle_of_its_range_before_learning() -> None:
    algorithm = BoxInertiaConfig(core=CORE, hidden=(7,)).build(SPEC)
    params = jax.tree.map(np.asarray, algorithm.acting(algorithm.init(np.random.default_rng(1))))
    rows = batch()
    first = algorithm.apply(params, rows.obs, SPEC.actions.null(5), np)
    assert (first.mu == 0).all()
    np.testing.assert_array_equal(first.policy.mode(), first.core.mode())
    later = algorithm.apply(params, rows.obs, rows.prev_action, np)
    assert later.mu.shape == (5,)
    np.testing.assert_allclose(later.mu, 0.5, atol=0.3)


def test_mixture_repeats_exactly_and_as_often_as_mu_says() -> None:
    n = 4000
    prev = np.tile(np.array([[0.1, -0.2]], np.float32), (n, 1))
    core = Point(np.full((n, 2), 0.9, np.float32))
    one = Mixture(np.full((n, 1), 0.3, np.float32), prev, core)
    rows = one.sample(np.random.default_rng(0))
    repeated = (rows == prev).all(1)
    assert abs(repeated.mean() - 0.3) < 0.03
    assert (rows[~repeated] == np.float32(0.9)).all()
    assert one.probability(prev) == pytest.approx(np.full(n, 0.3))
    each = Mixture(np.tile([[0.9, 0.1]], (n, 1)), prev, core)
    share = (each.sample(np.random.default_rng(0)) == prev).mean(0)
    assert share == pytest.approx([0.9, 0.1], abs=0.03)
    assert each.probability(prev) == pytest.approx(np.full(n, 0.09))
    assert each.mode()[0].tolist() == pytest.approx([0.1, 0.9])


def test_settings_without_meaning_are_refused() -> None:
    with pytest.raises(InputError, match="mu0 is 1"):
        BoxInertiaConfig(core=CORE, mu0=1.0)
    with pytest.raises(InputError, match="temperature is 0"):
        BoxInertiaConfig(core=CORE, temperature=0.0)
