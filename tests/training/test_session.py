"""What a session learns and how it counts; runs on disk are in test_training."""

import copy
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import Policy, evaluate
from policy_inertia.envs.making import EnvLike
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support import probes

FAST = {"learning_rate": 3e-3, "target_rate": 0.05}
NESTED = {**FAST, "pic_learning_rate": 3e-3, "core": FAST}


def learn(method: str, env: EnvLike, steps: int, **changes: Any) -> Policy:
    session = Session(settings(method, "probe", learning_starts=200, **changes), env)
    while session.step < steps:
        session.advance()
    return session.policy()


# probe environments: each can be solved by one thing only ---------------------------------------


def test_inertia_is_high_where_repeating_is_optimal() -> None:
    policy = learn("nsac", probes.Repeat, 6_000, **NESTED)
    assert policy.inertia(np.zeros((2, 1)), [0, 1]).min() > 0.9
    assert evaluate(policy, probes.Repeat, 20).summary()["oscillation_ratio"] < 0.05


def test_inertia_is_low_where_switching_is_optimal() -> None:
    policy = learn("nsac", probes.Switch, 6_000, **NESTED)
    assert policy.inertia(np.zeros((2, 1)), [0, 1]).max() < 0.1


def test_inertia_depends_on_the_state_where_both_are_needed() -> None:
    policy = learn("nsac", probes.Both, 8_000, **NESTED)
    lights = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    mu = policy.inertia(lights, [0, 1, 0, 1])
    assert mu[:2].min() > 0.9
    assert mu[2:].max() < 0.1


@pytest.mark.parametrize(("env", "worth"), [(probes.TimeLimit, 2.0), (probes.Death, 1.0)])
def test_values_go_on_through_a_time_limit_and_end_at_death(env: Any, worth: float) -> None:
    policy = learn(
        "dqn", env, 4_000, gamma=0.5, learning_rate=3e-3, target_period=20, epsilon_decay=1e-3,
        averaged=None,
    )  # fmt: skip
    q = policy.acting(np.zeros((1, 1), np.float32), np.array([-1])).scores
    np.testing.assert_allclose(q, worth, atol=0.05)


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("dqn", {"learning_rate": 3e-3, "target_period": 20, "epsilon_decay": 1e-3}),
        ("sac", FAST),
        ("nsac", NESTED),
        ("ndqn", {**NESTED, "core": {"learning_rate": 3e-3, "target_period": 20}}),
        ("dqn-repeat", {"learning_rate": 3e-3, "target_period": 20, "epsilon_decay": 1e-3}),
    ],
)
def test_delayed_reward_is_found(method: str, changes: Any) -> None:
    policy = learn(method, probes.Delayed, 4_000, **changes)
    assert evaluate(policy, probes.Delayed, 20, deterministic=True).summary()["return"] == 1


def test_penalty_teaches_not_to_switch_and_is_not_part_of_evaluation() -> None:
    policy = learn("sac", probes.Probe, 3_000, penalty=0.5, **FAST, temperature=0.01)
    figures = evaluate(policy, probes.Probe, 20, deterministic=True).summary()
    assert figures["oscillation_ratio"] == 0
    assert figures["return"] == 0


# counting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sac", "nsac"])
def test_one_env_and_eight_count_steps_and_updates_alike(method: str) -> None:
    counts = []
    for envs in (1, 8):
        session = Session(settings(method, "CartPole-v1", "paper", envs=envs), "CartPole-v1")
        while session.step < 1_200:
            session.advance()
        counts.append((session.step, session.replay.added, session.updates))
    assert counts[0] == counts[1] == (1_200, 1_200, 100)


def test_repetition_counts_primitive_steps_and_updates_by_transitions() -> None:
    session = Session(settings("sac-repeat", "CartPole-v1", learning_starts=100), "CartPole-v1")
    while session.step < 1_600:
        session.advance()
    assert session.step == 1_600
    assert 1_600 / 8 < session.replay.added < 1_600
    assert session.updates == sum(t % 2 == 0 for t in range(101, session.replay.added + 1))
    for k in (1, 2, 4, 8):
        assert np.isclose(session.replay.state()["discount"], 0.99**k).any()


@pytest.mark.parametrize("method", ["temporl", "lagrangian-dqn"])
def test_restored_session_goes_on_bit_for_bit(method: str) -> None:
    """In mid-episode and inside held stretches; runs that are killed are in test_loop."""
    config = settings(method, "CartPole-v1", "paper", learning_starts=100, hidden=(8,))
    first, second = (Session(config, "CartPole-v1") for _ in range(2))
    while first.step < 600:
        first.advance()
    saved = copy.deepcopy((*first.state(), first.replay.state()))
    while second.step < 40:  # anywhere else
        second.advance()
    arrays, state, records = saved
    second.recent.clear()
    second.restore(arrays, records, state, Path("checkpoint"))
    for session in (first, second):
        while session.step < 1_000:
            session.advance()
        session.envs.close()
    jax.tree.map(np.testing.assert_array_equal, first.learner.state, second.learner.state)
    if method == "lagrangian-dqn":
        assert first.learner.state.controller.price > 0


def test_epsilon_follows_the_updates() -> None:
    session = Session(
        settings("ndqn", "CartPole-v1", "paper", learning_starts=0, core={"epsilon_decay": 1e-3}),
        "CartPole-v1",
    )
    assert session.epsilon == 1
    while session.step < 400:
        session.advance()
    assert session.epsilon == pytest.approx(1 - 1e-3 * 200)
