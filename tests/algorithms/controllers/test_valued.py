"""What controllers that act by twin critics share: the average that their policy acts by."""

from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.controllers.dial import DialConfig
from policy_inertia.algorithms.controllers.lagrangian import LagrangianConfig
from policy_inertia.algorithms.controllers.token_planner import LimitConfig
from policy_inertia.algorithms.dqn import DQNConfig
from tests.algorithms.test_nested import DUE, SPEC, minibatch

KINDS = [DialConfig, LimitConfig, LagrangianConfig]
RATE = 0.25


def size_of(controller: Any) -> float:
    scale = getattr(controller, "scale", None)
    return float(controller.size if scale is None else scale.values)


def in_true_units(network: Any, size: float) -> list[np.ndarray]:
    """All weights, those of the last layer times the unit of the values."""
    *layers, last = jax.tree.map(np.asarray, network)
    scaled = {name: array * (size or 1.0) for name, array in last.items()}
    return [layer[name] for layer in (*layers, scaled) for name in ("w", "b")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("quick_compiler")
def test_policy_acts_by_a_moving_average_of_the_critics_and_training_by_their_targets(
    kind: Any,
) -> None:
    config = kind(DQNConfig(hidden=(6,)), hidden=(6,), learning_rate=0.05, average_rate=RATE)
    algorithm = config.build(SPEC)
    state = algorithm.init(np.random.default_rng(1))
    critics = state.controller.critics
    average = in_true_units(critics.average, 0.0)
    update = jax.jit(algorithm.update)
    for i in range(6):
        batch = minibatch(32, seed=i)
        first = float(np.sqrt(np.mean(batch.reward**2)))  # the unit before the first update
        if i == 0:
            average = in_true_units(critics.average, first)
        state = update(state, batch, DUE).state
        critics, size = state.controller.critics, size_of(state.controller)
        online = in_true_units(critics.online, size)
        average = [(1 - RATE) * a + RATE * o for a, o in zip(average, online, strict=True)]
    pairs = zip(in_true_units(critics.average, size), average, strict=True)
    assert all(np.allclose(actual, expected, rtol=1e-4, atol=1e-5) for actual, expected in pairs)
    acts = in_true_units(algorithm.policy(state).controller.critics, 1.0)
    trains = in_true_units(algorithm.acting(state).controller.critics, 1.0)
    for actual, expected, target in zip(
        acts, average, in_true_units(critics.target, size), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
        assert not np.allclose(expected, target, rtol=1e-3)
    for actual, target in zip(trains, in_true_units(critics.target, size), strict=True):
        np.testing.assert_allclose(actual, target, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_average_the_policy_is_what_training_acts_by(kind: Any) -> None:
    assert kind(DQNConfig()).build(SPEC).policy is None


def test_average_spans_the_share_of_the_run_that_is_asked_for() -> None:
    config = DialConfig(DQNConfig(averaged=0.1), averaged=0.05, train_interval=2)
    fitted: Any = config.for_steps(100_000)
    assert fitted.average_rate == pytest.approx(1 / 2_500)
    assert fitted.core.average_rate == pytest.approx(1 / 5_000)
