"""One update of SAC and TD3 on Box actions against an independent NumPy computation."""

from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.asap import ASAPConfig
from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.algorithms.nested import core_outputs
from policy_inertia.algorithms.td3 import TD3Config
from policy_inertia.types import Preceded
from tests.algorithms.box_reference import DUE, SPEC, batch, drawn, gaussian, network, twins


@pytest.mark.parametrize("auto", [True, False])
def test_update_of_sac_is_that_of_numpy(auto: bool) -> None:
    config = BoxSACConfig(hidden=(7,), temperature=0.3, auto_temperature=auto, target_entropy=-0.5)
    algorithm = config.build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), batch()
    after, losses, _ = algorithm.update(state, rows, DUE)
    noise = drawn(state.key, 2)
    action, log_pi = gaussian(state.actor, rows.next_obs, noise[0])
    q_next = twins(state.critics.target, rows.next_obs, action).min(0)
    target = rows.reward + rows.discount * (q_next - 0.3 * log_pi)
    error = twins(state.critics.online, rows.obs, rows.action) - target
    assert losses["critic_loss"] == pytest.approx((0.5 * error**2).mean(1).sum(), rel=1e-4)
    action, log_pi = gaussian(state.actor, rows.obs, noise[1])
    q = twins(after.critics.online, rows.obs, action).min(0)
    assert losses["actor_loss"] == pytest.approx((0.3 * log_pi - q).mean(), rel=1e-4)
    if auto:
        loss = -0.3 * (log_pi - 0.5 * 2).mean()
        assert losses["ent_coef_loss"] == pytest.approx(loss, rel=1e-4)
        assert (after.log_alpha > state.log_alpha) == (loss < 0)
    else:
        assert after.log_alpha == state.log_alpha
    for old, new, averaged in zip(
        *map(jax.tree.leaves, (state.critics.target, after.critics.online, after.critics.target)),
        strict=True,
    ):
        np.testing.assert_allclose(averaged, 0.995 * old + 0.005 * new, rtol=1e-5, atol=1e-7)
    assert (after.key != state.key).any()


@pytest.mark.parametrize("config", [BoxSACConfig(hidden=(7,)), ASAPConfig(hidden=(7,))])
def test_update_of_sac_tells_the_policy_before_it(config: Any) -> None:
    algorithm: Any = config.build(SPEC)
    state, plain = algorithm.init(np.random.default_rng(1)), batch()
    rows: Any = Preceded(*plain, plain.obs) if config.traits.preceded else plain
    outputs = algorithm.update(state, rows, DUE).core_outputs
    expected = core_outputs(algorithm, state, rows)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), outputs, expected)


def test_updates_of_td3_are_those_of_numpy_and_its_actor_waits() -> None:
    algorithm = TD3Config(hidden=(7,)).build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), batch()
    first, losses, _ = algorithm.update(state, rows, DUE)
    (noise,) = np.clip(0.2 * drawn(state.key, 1), -0.5, 0.5)
    action = np.tanh(network(state.actor_target, np.asarray(rows.next_obs, float)))
    q_next = twins(state.critics.target, rows.next_obs, np.clip(action + noise, -1, 1)).min(0)
    error = twins(state.critics.online, rows.obs, rows.action) - (
        rows.reward + rows.discount * q_next
    )
    assert losses["critic_loss"] == pytest.approx((0.5 * error**2).mean(1).sum(), rel=1e-4)
    assert np.isnan(losses["actor_loss"])
    assert same(first.actor, state.actor)
    assert same(first.critics.target, state.critics.target)
    second, losses, _ = algorithm.update(first, rows, DUE)
    action = np.tanh(network(first.actor, np.asarray(rows.obs, float)))
    q = twins(second.critics.online, rows.obs, action)[0]
    assert losses["actor_loss"] == pytest.approx(-q.mean(), rel=1e-4)
    assert not same(second.actor, first.actor)
    assert not same(second.critics.target, first.critics.target)


def same(one: Any, other: Any) -> bool:
    pairs = zip(*map(jax.tree.leaves, (one, other)), strict=True)
    return all((np.asarray(a) == np.asarray(b)).all() for a, b in pairs)


@pytest.mark.parametrize("config", [BoxSACConfig(hidden=(7,)), TD3Config(hidden=(7,))])
def test_policy_is_the_same_with_numpy_and_with_jax(config: Any) -> None:
    algorithm, rows = config.build(SPEC), batch()
    params = algorithm.acting(algorithm.init(np.random.default_rng(1)))
    host = algorithm.apply(jax.tree.map(np.asarray, params), rows.obs, rows.prev_action, np)
    device = algorithm.apply(params, rows.obs, rows.prev_action)
    np.testing.assert_allclose(host.policy.mode(), device.policy.mode(), atol=1e-6)
    assert (host.mu == 0).all()
    assert (host.policy.probability(rows.action) == 0).all()


def test_caps_adds_its_two_distances_to_the_loss_of_the_actor() -> None:
    config = BoxSACConfig(hidden=(7,), caps_temporal=0.7, caps_spatial=0.4, caps_noise=0.3)
    algorithm, plain = config.build(SPEC), BoxSACConfig(hidden=(7,)).build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), batch()
    _, losses, _ = algorithm.update(state, rows, DUE)
    _, without, _ = plain.update(state, rows, DUE)
    key = jax.random.split(jax.random.split(state.key)[0])[1]
    near = np.asarray(jax.random.normal(key, (1, 5, 3)), float)[0]

    def mean(obs: Any) -> np.ndarray:
        return np.tanh(network(state.actor, np.asarray(obs, float))[:, :2])

    temporal = np.linalg.norm(mean(rows.obs) - mean(rows.next_obs), axis=1).mean()
    spatial = np.linalg.norm(mean(rows.obs) - mean(rows.obs + 0.3 * near), axis=1).mean()
    added = float(losses["actor_loss"] - without["actor_loss"])
    assert added == pytest.approx(0.7 * temporal + 0.4 * spatial, rel=1e-3)
