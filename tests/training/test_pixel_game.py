from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from policy_inertia.envs.vector import Envs
from policy_inertia.seeds import training_seed
from tests.support.pixel_game import BALL, FALL, FLOOR, MOVE, PADDLE, SIZE, Catch


def play(
    choose: Callable[[Catch, int], int], seed: int, env: Catch | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Observations, rewards and what was caught in one episode."""
    env = env or Catch()
    obs, _ = env.reset(seed=seed)
    seen, caught, done = [obs], 0, False
    paid: list[float] = []
    while not done:
        obs, reward, done, truncated, info = env.step(choose(env, len(paid)))
        assert not truncated
        seen.append(obs)
        paid.append(reward)
        caught += info["caught"]
    return np.array(seen), np.array(paid), caught


def follow(env: Catch, t: int) -> int:
    """Towards the ball's middle."""
    away = env.x + BALL // 2 - (env.paddle + PADDLE // 2)
    return 1 + (away > MOVE // 2) - (away < -(MOVE // 2))


def jitter(env: Catch, t: int) -> int:
    """Towards the ball, then left and right under it."""
    chosen = follow(env, t)
    return 2 * (t % 2) if chosen == 1 else chosen


def test_gymnasiums_checker_has_nothing_to_say() -> None:
    check_env(gym.make("tests.support.registered:Catch-v0", render_mode="rgb_array").unwrapped)


def test_an_episode_is_its_seeds_and_actions() -> None:
    actions = np.random.default_rng(0).integers(0, 3, 100)

    def same(env, t):
        return actions[t]

    one, again, other = play(same, 5), play(same, 5), play(same, 6)
    used = Catch()
    play(follow, 1, used)
    after = play(same, 5, used)
    for run in (again, after):
        np.testing.assert_array_equal(run[0], one[0])
        np.testing.assert_array_equal(run[1], one[1])
    assert not np.array_equal(other[0][0], one[0][0])


def test_screens_are_stacked_newest_last_and_blank_before_the_first() -> None:
    seen, _, _ = play(follow, 3)
    assert seen.shape[1:] == (4, SIZE, SIZE)
    assert not seen[0, :3].any()
    assert seen[0, 3].any()
    for t in range(1, len(seen)):
        np.testing.assert_array_equal(seen[t, :3], seen[t - 1, 1:])


def test_the_screen_shows_ball_paddle_and_balls_to_come() -> None:
    env = Catch()
    obs, _ = env.reset(seed=0)
    obs, *_ = env.step(1)
    rows, columns = np.nonzero(obs[-1] == 255)
    assert (rows.min(), rows.max() + 1) == (FALL, FALL + BALL)
    assert (columns.min(), columns.max() + 1) == (env.x, env.x + BALL)
    rows, columns = np.nonzero(obs[-1] == 120)
    assert (rows.min(), columns.min(), columns.max() + 1) == (
        FLOOR,
        env.paddle,
        env.paddle + PADDLE,
    )
    assert obs[-1, 0, :12].tolist() == [60] * 12
    assert not obs[-1, 0, 12 : env.x].any()


def test_following_the_ball_pays_idling_does_not_and_jitter_costs_nothing() -> None:
    def idle(env, t):
        return 1

    scores = {
        choose.__name__: np.mean([play(choose, s)[1].sum() for s in range(50)])
        for choose in (follow, idle, jitter)
    }
    assert all(play(follow, s)[2] == 3 for s in range(50))
    assert len(play(follow, 0)[1]) == 45
    assert scores["follow"] > 5
    assert scores["idle"] < 0
    assert scores["jitter"] > 0.95 * scores["follow"]


@pytest.mark.parametrize("steps", [0, 30, 100])
def test_it_is_restored_by_taking_its_actions_again(steps: int) -> None:
    one, two = (Envs(Catch, 3, lambda i, k: training_seed(0, i, k)) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(steps):
        one.step(rng.integers(0, 3, 3))
    assert two.restore(one.state())
