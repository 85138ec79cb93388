"""DQN and SAC alone."""

from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.sac import SACConfig
from tests.algorithms import reference
from tests.algorithms.test_nested import SPEC, in_float64, minibatch, same

DUE = np.ones(1, bool)


@pytest.mark.usefixtures("quick_compiler")
def test_dqn_updates_agree_with_an_independent_computation() -> None:
    algorithm = DQNConfig(hidden=(6,), learning_rate=0.01, target_period=2).build(SPEC)
    state = algorithm.init(np.random.default_rng(0))
    theirs = in_float64(state.critic)
    target = [[w.copy(), b.copy()] for w, b in theirs]
    adam = reference.Adam(0.01)
    for i in range(4):
        batch = minibatch(seed=i)
        state, _, _ = jax.jit(algorithm.update)(state, batch, DUE)
        y = batch.reward + batch.discount * reference.network(target, batch.next_obs).max(1)
        rows = np.arange(len(y))

        def loss(critic, batch=batch, y=y, rows=rows):
            return np.mean((reference.network(critic, batch.obs)[rows, batch.action] - y) ** 2) / 2

        adam.step(theirs, loss)
        if i % 2 == 1:
            target = [[w.copy(), b.copy()] for w, b in theirs]
    same(state.critic, theirs)
    same(state.target, target)


def test_dqn_target_is_replaced_exactly_at_its_period() -> None:
    algorithm = DQNConfig(target_period=3).build(SPEC)
    first = state = algorithm.init(np.random.default_rng(0))
    for i in range(1, 7):
        previous = state
        state, _, _ = jax.jit(algorithm.update)(state, minibatch(seed=i), DUE)
        expected = state.critic if i % 3 == 0 else previous.target
        jax.tree.map(np.testing.assert_array_equal, state.target, expected)
    assert np.abs(state.target[0]["w"] - first.target[0]["w"]).max() > 0


def test_epsilon_falls_by_the_papers_schedule_and_by_a_faster_one() -> None:
    slow = DQNConfig().build(SPEC).behaviour.epsilon
    assert (slow(0), slow(100_000), slow(180_000), slow(10**6)) == pytest.approx((1, 0.5, 0.1, 0.1))
    assert DQNConfig(epsilon_decay=1e-4).build(SPEC).behaviour.epsilon(5_000) == pytest.approx(0.5)
    assert SACConfig().build(SPEC).behaviour.epsilon(0) == 0


@pytest.mark.usefixtures("quick_compiler")
def test_fixed_temperature_stays_and_automatic_one_moves() -> None:
    for auto in (False, True):
        algorithm = SACConfig(auto_temperature=auto).build(SPEC)
        state = algorithm.init(np.random.default_rng(0))
        after, report, _ = jax.jit(algorithm.update)(state, minibatch(), DUE)
        # the first policy is nearly uniform, above the target entropy: alpha must fall
        assert (after.log_alpha < state.log_alpha) == auto
        assert ("ent_coef" in report) == auto


def test_defaults_are_the_papers_highway_column() -> None:
    dqn, sac = DQNConfig(), SACConfig()
    assert (dqn.learning_rate, dqn.hidden, dqn.target_period) == (3e-4, (64, 64), 10_000)
    assert (dqn.epsilon_decay, dqn.epsilon_final, dqn.train_interval) == (5e-6, 0.1, 2)
    assert (sac.learning_rate, sac.hidden, sac.temperature) == (3e-4, (64, 64), 0.1)
    assert (sac.target_rate, sac.train_interval) == (0.002, 2)


@pytest.mark.parametrize(("kind", "part"), [(DQNConfig, "critic"), (SACConfig, "actor")])
def test_the_policy_can_be_a_moving_average_of_its_networks(kind: Any, part: str) -> None:
    algorithm, plain = (kind(average_rate=rate).build(SPEC) for rate in (0.25, 1.0))
    assert plain.policy is None
    assert algorithm.policy is not None
    state, other = (a.init(np.random.default_rng(0)) for a in (algorithm, plain))
    average = np.array(getattr(state, part)[0]["w"], float)
    for i in range(3):
        state, _, _ = jax.jit(algorithm.update)(state, minibatch(seed=i), DUE)
        other, _, _ = jax.jit(plain.update)(other, minibatch(seed=i), DUE)
        average += 0.25 * (np.array(getattr(state, part)[0]["w"], float) - average)
    np.testing.assert_allclose(algorithm.policy(state)[0]["w"], average, rtol=1e-5, atol=1e-7)
    # training acts by the network itself, which learns as it does without an average
    for params in (algorithm.acting(state), getattr(state, part)):
        jax.tree.map(np.testing.assert_array_equal, params, getattr(other, part))


def test_an_average_follows_the_unit_of_values() -> None:
    algorithm = DQNConfig(average_rate=1e-9, scaled=True).build(SPEC)
    assert algorithm.policy is not None
    first = state = algorithm.init(np.random.default_rng(0))
    for i in range(50):
        state, _, _ = jax.jit(algorithm.update)(state, minibatch(seed=i), DUE)
    # an average that hardly moves keeps the first network's values, in whatever unit they are
    before, after = (algorithm.policy(s)[-1]["w"] for s in (first, state))
    unit = np.sqrt((minibatch(seed=0).reward ** 2).mean())
    np.testing.assert_allclose(after, np.array(before) * unit, rtol=1e-4)


def test_shares_of_a_run_become_numbers_of_updates() -> None:
    config = DQNConfig(averaged=0.05, exploration=0.1, epsilon_final=0.1).for_steps(10_000)
    assert config.average_rate == pytest.approx(1 / 250)  # of 5,000 updates
    assert config.epsilon_decay == pytest.approx(0.9 / 500)
    assert (config.averaged, config.exploration) == (None, None)
    assert DQNConfig().for_steps(10_000) == DQNConfig()
