"""The dial for Box actions against an independent NumPy computation."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.box_dial import BoxDialConfig, BoxDialParams
from policy_inertia.algorithms.nested import NestedParams
from policy_inertia.errors import InputError
from policy_inertia.types import Transition
from tests.algorithms.box_reference import SPEC, N, batch, network

CORE = BoxSACConfig(hidden=(7,))
WORTH, SIZE = 0.4, 2.0


def started(config: BoxDialConfig) -> tuple[Any, Any]:
    """An algorithm, and a state whose controller is random and knows its scale."""
    algorithm = config.build(SPEC)
    state = algorithm.init(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    actor = jax.tree.map(
        lambda w: w + jnp.asarray(rng.normal(0, 0.5, w.shape), jnp.float32), state.controller.actor
    )
    actor[-1]["b"] += 1.5  # mu is well above 0
    scale = {"size": jnp.float32(SIZE), "worth": jnp.float32(WORTH)}
    return algorithm, state._replace(controller=state.controller._replace(actor=actor, **scale))


def host(algorithm: Any, state: Any) -> NestedParams:
    params = jax.tree.map(np.asarray, algorithm.acting(state))
    return NestedParams(params.core, BoxDialParams(*params.controller))


def moved(config: BoxDialConfig, actor: Any, obs: Any, prev: Any, core: Any, f: Any) -> Any:
    known = np.ones((N, 1))
    x = network(actor, np.concatenate([obs, prev, known, core, f], 1).astype(float))
    return np.tanh(x) if config.full else prev + (1 - np.clip(x, 0, 1)) * (core - prev)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("cost", ["l1", "squared"])
def test_update_of_the_dial_is_that_of_numpy(cost: Any, full: bool) -> None:
    config = BoxDialConfig(core=CORE, hidden=(7,), cost=cost, full=full, largest=3.0)
    algorithm, state = started(config)
    rows, inner = batch(), state.controller
    after, losses, _ = algorithm.update(state, rows, np.ones(2, bool))
    x = np.asarray(prices.draw(prices.spread(inner.updates, N)), float)
    features, price = np.asarray(prices.features(x, np)), x * 3.0 * WORTH / SIZE
    measure = {
        "l1": lambda a, b: abs(a - b).mean(1) / 2,
        "squared": lambda a, b: ((a - b) ** 2).mean(1) / 4,
    }[cost]

    def u(critics: Any, obs: Any, action: Any) -> np.ndarray:
        inputs = np.concatenate([obs, action, features], 1).astype(float)
        return np.stack([network(critics, inputs, twin)[:, 0] for twin in (0, 1)])

    def core_action(obs: Any) -> np.ndarray:
        return np.tanh(network(state.core.actor, np.asarray(obs, float))[:, :2])

    action = moved(
        config, inner.actor, rows.next_obs, rows.action, core_action(rows.next_obs), features
    )
    q = u(inner.critics.target, rows.next_obs, action).min(0) - price * measure(action, rows.action)
    target = rows.reward / SIZE + rows.discount * q
    error = u(inner.critics.online, rows.obs, rows.action) - target
    assert losses["mixed_critic_loss"] == pytest.approx((0.5 * error**2).mean(1).sum(), rel=1e-3)
    # the unit follows the targets, and the critics keep their values
    growth = np.sqrt(1 + 0.001 * ((target**2).mean() - 1))
    assert float(after.controller.size) == pytest.approx(SIZE * growth, rel=1e-4)
    # what a move is worth is measured where moves are free
    free, now = x == 0, core_action(rows.obs)
    critics = jax.tree.map(np.array, after.controller.critics.online)
    critics[-1] = jax.tree.map(lambda w: w * growth, critics[-1])
    gap = abs(u(critics, rows.obs, now).min(0) - u(critics, rows.obs, rows.prev_action).min(0))
    worth = SIZE * gap[free].sum() / measure(now, rows.prev_action)[free].sum()
    expected = WORTH + 0.005 * (worth - WORTH)
    assert free.any()
    assert float(after.controller.worth) == pytest.approx(expected, rel=1e-4)


def test_untrained_dial_is_its_core_at_every_price() -> None:
    algorithm: Any = BoxDialConfig(core=CORE, hidden=(7,)).build(SPEC)
    params, rows = host(algorithm, algorithm.init(np.random.default_rng(1))), batch()
    for price in (0.0, 5.0):
        acting = algorithm.apply(algorithm.at(params, price), rows.obs, rows.prev_action, np)
        np.testing.assert_array_equal(acting.policy.mode(), acting.core.mode())
        assert (acting.mu == 0).all()


def test_price_below_zero_goes_over_to_the_core() -> None:
    algorithm, state = started(BoxDialConfig(core=CORE, hidden=(7,)))
    params, rows = host(algorithm, state), batch()
    largest = float(algorithm.largest_price(params))
    assert largest == pytest.approx(10 * WORTH)
    zero, half, core = (
        algorithm.apply(algorithm.at(params, price), rows.obs, rows.prev_action, np)
        for price in (0.0, -largest / 2, -largest)
    )
    np.testing.assert_array_equal(core.policy.mode(), core.core.mode())
    middle = (zero.policy.mode() + core.policy.mode()) / 2
    np.testing.assert_allclose(half.policy.mode(), middle, atol=1e-6)
    assert abs(zero.policy.mode() - core.policy.mode()).max() > 0.05
    with pytest.raises(InputError, match="the core itself"):
        algorithm.at(params, -2 * largest)


def test_each_row_can_have_its_own_price() -> None:
    algorithm, state = started(BoxDialConfig(core=CORE, hidden=(7,)))
    params, rows = host(algorithm, state), batch()
    several = np.linspace(-1, 4, N).astype(np.float32)
    together = algorithm.apply(algorithm.at(params, several), rows.obs, rows.prev_action, np)
    for i, price in enumerate(several):
        one = algorithm.apply(algorithm.at(params, price), rows.obs, rows.prev_action, np)
        np.testing.assert_allclose(
            together.policy.mode()[i], one.policy.mode()[i], rtol=1e-5, atol=1e-6
        )


def test_first_action_of_an_episode_is_the_cores_and_costs_nothing() -> None:
    algorithm, state = started(BoxDialConfig(core=CORE, hidden=(7,)))
    params, rows = host(algorithm, state), batch()
    first = algorithm.apply(params, rows.obs, SPEC.actions.null(N), np)
    np.testing.assert_array_equal(first.policy.mode(), first.core.mode())
    assert (first.mu == 0).all()
    alone = rows._replace(prev_action=np.full((N, 2), np.nan, np.float32))
    _, losses, _ = algorithm.update(state, alone, np.ones(2, bool))
    assert all(np.isfinite(loss) for loss in losses.values())


def test_controller_learns_from_a_share_of_the_minibatch_and_the_core_from_all() -> None:
    rows, due = batch(), np.ones(2, bool)
    first = Transition(*(part[:2] for part in rows))
    whole, share = (BoxDialConfig(CORE, hidden=(7,), batch_share=x) for x in (1.0, 0.4))
    algorithm, state = started(share)
    after = algorithm.update(state, rows, due).state
    alone = whole.build(SPEC).update(state, first, due).state
    close = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6)
    jax.tree.map(close, after.controller, alone.controller)
    core = CORE.build(SPEC).update(state.core, rows, due[:1]).state
    jax.tree.map(close, after.core, core)


def test_unknown_cost_is_refused() -> None:
    wrong: Any = "l2"
    with pytest.raises(InputError, match="give one of l1, squared"):
        BoxDialConfig(core=CORE, cost=wrong)
