"""n-step returns against sums by hand."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.n_step import NStep
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from policy_inertia.types import Transition

GAMMA = 0.5


def step(t: int, rewards: list[float], terminated: list[bool]) -> Transition:
    """Step t of two envs, whose observations are t and 100 + t."""
    obs = np.array([[t], [100 + t]], np.float32)
    discount = np.where(terminated, 0.0, GAMMA)
    action = np.array([t, t + 1])
    return Transition(obs, action - 1, action, np.array(rewards), discount, obs + 1)


def test_rewards_are_added_up_and_an_end_cuts_them_short() -> None:
    join = NStep(3, 2, 1, Discrete(9)).join
    no, first = np.array([False, False]), np.array([True, False])
    assert len(join(step(0, [1, 10], [False, False]), no)[1]) == 0
    assert len(join(step(1, [2, 20], [False, False]), no)[1]) == 0
    # the first env terminates: its three steps leave, and the oldest of the second
    out, envs = join(step(2, [4, 40], [True, False]), first)
    assert envs.tolist() == [0, 0, 0, 1]
    assert out.obs[:, 0].tolist() == [0, 1, 2, 100]
    assert out.reward.tolist() == [1 + 1 + 1, 2 + 2, 4, 10 + 10 + 10]
    assert out.discount.tolist() == [0, 0, 0, GAMMA**3]
    assert out.next_obs[:, 0].tolist() == [3, 3, 3, 103]
    assert out.action.tolist() == [0, 1, 2, 1]
    assert out.prev_action.tolist() == [-1, 0, 1, 0]
    # a new episode of the first env starts with nothing behind it
    out, envs = join(step(3, [8, 80], [False, False]), no)
    assert (envs.tolist(), out.obs[:, 0].tolist()) == ([1], [101])
    assert out.reward.tolist() == [20 + 20 + 20]


def test_a_time_limit_cuts_the_sum_and_keeps_the_discount() -> None:
    join = NStep(3, 2, 1, Discrete(9)).join
    join(step(0, [1, 1], [False, False]), np.array([False, False]))
    out, _ = join(step(1, [1, 1], [False, False]), np.array([True, True]))
    assert out.discount.tolist() == [GAMMA**2, GAMMA, GAMMA**2, GAMMA]


def test_every_step_of_a_run_leaves_once_with_its_own_sum() -> None:
    """A random run against sums over whole episodes."""
    rng = np.random.default_rng(0)
    n, horizon = 4, 60
    joiner = NStep(n, 2, 1, Discrete(99))
    rewards = rng.normal(size=(horizon, 2))
    dones = rng.random((horizon, 2)) < 0.15
    left: dict[tuple[int, int], tuple[float, float]] = {}
    for t in range(horizon):
        out, envs = joiner.join(step(t, rewards[t].tolist(), [False, False]), dones[t])
        for k, env in enumerate(envs):
            key = int(env), int(out.obs[k, 0]) - 100 * int(env)
            assert key not in left
            left[key] = float(out.reward[k]), float(out.discount[k])
    for (env, t), (total, discount) in left.items():
        end = next((u for u in range(t, horizon) if dones[u, env]), horizon)
        length = min(n, end - t + 1)
        expected = sum(GAMMA**i * rewards[t + i, env] for i in range(length))
        assert total == pytest.approx(expected)
        assert discount == GAMMA**length
    assert len(left) >= 2 * (horizon - n)


@pytest.mark.parametrize(
    ("method", "n", "says"),
    [
        ("dqn", 0, "n_step is 0: it must be from 1 to 100"),
        ("nsac", 3, "n_step is 3 for nsac: only methods that decide at every step"),
        ("dqn-repeat", 3, "n_step is 3 for dqn-repeat"),
    ],
)
def test_where_steps_cannot_be_joined_it_is_refused(method: str, n: int, says: str) -> None:
    with pytest.raises(InputError, match=says):
        settings(method, "CartPole-v1", preset="paper", n_step=n)


def test_a_session_goes_on_from_a_saved_moment_bit_for_bit(tmp_path: Any) -> None:
    config = settings("dqn", "CartPole-v1", preset="paper", n_step=3, learning_starts=40, steps=400)
    whole, saved, resumed = (Session(config, "CartPole-v1") for _ in range(3))
    while saved.step < 200:
        saved.advance()
        whole.advance()
    arrays, state = saved.state()
    assert resumed.restore(arrays, saved.replay.state(), state, tmp_path)
    while whole.step < 400:
        whole.advance()
        resumed.advance()
    assert whole.replay.state().tobytes() == resumed.replay.state().tobytes()


def test_a_forged_moment_is_refused(tmp_path: Any) -> None:
    config = settings("dqn", "CartPole-v1", preset="paper", n_step=3, steps=400)
    session, other = (Session(config, "CartPole-v1") for _ in range(2))
    session.advance()
    arrays, state = session.state()
    arrays["n_step.action"] = arrays["n_step.action"] + 7
    with pytest.raises(InputError, match="running episodes that do not fit this env"):
        other.restore(arrays, session.replay.state(), state, tmp_path)
