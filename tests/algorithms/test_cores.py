"""DQN and SAC alone."""

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.sac import SACConfig
from tests.algorithms import reference
from tests.algorithms.test_nested import SPEC, in_float64, minibatch, same

DUE = np.ones(1, bool)


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
