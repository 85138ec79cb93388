"""Training around a frozen core."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, load_core
from policy_inertia.algorithms.controllers.warm_up import WATCHED
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support import probes
from tests.support.cores import alternating, light


def around(core: Any, env: Any, method: str = "smooth", **changes: Any) -> Session:
    """A run around a core, in memory."""
    core = load_core(core, env)
    config = settings(method, env.__name__, "paper", core=core_identity(core).__dict__, **changes)
    return Session(config, env, SpacesWithCore.of_core(core))


def advance(run: Session, steps: int) -> None:
    for _ in range(steps):
        run.advance()


def test_learner_never_calls_the_core() -> None:
    calls: list[int] = []

    def counting(obs: np.ndarray) -> np.ndarray:
        calls.append(len(obs))
        return light(obs)

    run = around(counting, probes.Lights, envs=4, learning_starts=50, warmup=200)
    calls.clear()
    before = run.envs.episode.sum()
    advance(run, 100)
    assert run.updates > 100
    episodes = run.envs.episode.sum() - before
    assert sum(calls) == 4 * 100 + episodes  # each observation once, when the env gives it
    replay: Any = run.replay
    stored = replay.records[:400]
    for name in ("obs", "next_obs"):
        actions = stored[name][:, 1:3].argmax(1)
        np.testing.assert_array_equal(actions, light(stored[name]))


def test_core_is_watched_first_and_then_the_controller_takes_over() -> None:
    run = around(light, probes.Lights, envs=4, warmup=1_000, noise=0.25)
    assert (run.drawn == WATCHED).all()
    obs = run.spaces.encode(np.array([[1.0], [1.0], [0.0]]))
    previous, drawn = np.array([0, -1, 0]), np.full(3, WATCHED)
    policy = run.algorithm.behaviour.policy(run.policy().params, obs, previous, drawn)
    expected = np.array([[0.25, 0.75], [0, 1], [1, 0]])
    np.testing.assert_allclose(np.exp(policy.log_pi), expected, atol=1e-6)
    shares = []
    for _ in range(5):
        advance(run, 150)
        shares.append((run.drawn != WATCHED).mean())
    assert shares[0] == 0
    assert shares[-1] == 1


@pytest.mark.parametrize("watching", [True, False])
def test_while_the_core_is_watched_the_critics_learn_its_value(watching: bool) -> None:
    """The core alternates, and repeating pays: its value is 0. After one repetition its next
    action repeats too: 1 + gamma. A gate that kept repeating would be worth far more."""
    changes: dict[str, Any] = {"warmup": 10**6} if watching else {}
    run = around(
        alternating,
        probes.Clock,
        gamma=0.5,
        hidden=(64, 64),
        learning_rate=3e-3,
        target_rate=0.05,
        learning_starts=200,
        train_interval=2,
        **changes,
    )
    advance(run, 700)
    policy = run.policy()
    obs = policy.spaces.encode(np.array([[1.0]]))
    q = policy.acting(obs, np.array([0])).scores[0]  # the price is 0
    np.testing.assert_allclose(q, [1.5, 0.0] if watching else [2.0, 1.0], atol=0.25)


def test_frozen_core_cannot_be_trained_without_a_policy() -> None:
    with pytest.raises(InputError, match="needs a policy that you have"):
        Session(settings("smooth", "CartPole-v1"), "CartPole-v1")


def test_a_gate_around_a_frozen_core_refunds_a_tenth_of_the_price() -> None:
    config: Any = settings("smooth", "CartPole-v1").config
    assert config.refund == 0.1
