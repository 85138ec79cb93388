from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.algorithms.learning import adam, init_critics
from policy_inertia.algorithms.value_scale import (
    divisor,
    known_size,
    next_size,
    scaled_evaluation,
    times,
)
from policy_inertia.networks.perceptron import Network
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.algorithms.test_nested import SPEC, minibatch
from tests.support import lights


def test_size_begins_with_the_first_reward_and_follows_the_targets() -> None:
    nothing = jnp.zeros(())
    assert known_size(nothing, jnp.zeros(4)) == 0
    assert divisor(nothing) == 1
    first = known_size(nothing, jnp.array([3.0, -3.0, 3.0, 3.0]))
    assert first == divisor(first) == 3
    assert known_size(first, jnp.full(4, 1e6)) == 3  # rewards alone do not move it
    up, down = jnp.full(8, 4.0), jnp.full(8, 0.5)
    assert float(next_size(first, up)[0]) == pytest.approx(3 * np.sqrt(1 + 0.001 * 15))
    assert float(next_size(first, down)[0]) == pytest.approx(3 * np.sqrt(1 - 0.001 * 0.75))


@pytest.mark.parametrize("size", [0.0, 0.02, 700.0])
def test_values_stay_what_they_were_when_their_unit_changes(size: float) -> None:
    """Without a step of the optimiser, Q = size * network is the same before and after."""
    network, optimiser = Network(SPEC, (6,), 4), adam(0.0)
    critics = init_critics(np.random.default_rng(0), network, optimiser)
    batch = minibatch(16)
    before = critics
    unit = jnp.float32(size)
    for _ in range(50):
        critics, unit, _ = scaled_evaluation(
            critics, unit, network, optimiser, batch, None, jnp.full(16, 9.0), 0.0
        )
    assert (unit > 1.5 * size) if size else (unit == 0)
    for old, new in ((before.online, critics.online), (before.target, critics.target)):
        values, same = (
            network(old, batch.obs) * divisor(jnp.float32(size)),
            network(new, batch.obs) * unit,
        )
        if size:
            np.testing.assert_allclose(values, same, rtol=1e-4)
        else:  # nothing has a size yet
            jax.tree.map(np.testing.assert_array_equal, old, new)


def test_last_layer_alone_is_multiplied() -> None:
    network = Network(SPEC, (6, 5), 4)
    params = network.init(np.random.default_rng(0), twins=2)
    obs = minibatch(16).obs
    np.testing.assert_allclose(
        network(times(params, 3.0), obs), 3 * network(params, obs), rtol=1e-5
    )
    pixels = {"torso": "untouched", "head": params}
    assert times(pixels, 3.0)["torso"] == "untouched"


class Paid(gym.RewardWrapper):
    """CartPole, with every reward multiplied by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__(gym.make("CartPole-v1"))
        self.factor = factor

    def reward(self, reward: Any) -> float:
        return self.factor * float(reward)


@pytest.mark.parametrize(
    "method", ["dial-dqn", "gate-dqn", "limit-dqn", "lagrangian-dqn", "temporl"]
)
def test_rewards_times_a_power_of_two_change_no_action(method: str) -> None:
    """And prices are multiplied with the rewards."""
    runs = []
    for factor in (1, 128):
        config = settings(method, "CartPole-v1", learning_starts=200, hidden=(8,))
        session = Session(config, lambda factor=factor: Paid(factor))
        actions = []
        while session.step < 1_200:
            session.advance()
            actions.append(session.decisions.prev_choice.copy())
        session.envs.close()
        runs.append((np.array(actions), session.policy()))
    (plain, policy), (multiplied, paid_policy) = runs
    np.testing.assert_array_equal(plain, multiplied)
    if policy.largest_price is not None:
        assert policy.largest_price > 0
        assert paid_policy.largest_price == 128 * policy.largest_price


def largest_price(**rewards: float) -> float:
    config = settings("gate-dqn", "x", envs=16, learning_starts=200, hidden=(8,))
    session = Session(config, lambda: lights.EndingLights(**rewards))
    while session.step < 4_000:
        session.advance()
    session.envs.close()
    largest = session.policy().largest_price
    assert largest is not None
    return largest


def test_toss_of_100_at_the_end_of_episodes_does_not_set_the_prices() -> None:
    """With the largest reward as their unit it made them a hundred times as large."""
    assert largest_price(coin=100.0) < 10 * largest_price()
