"""Atari games as Gymnasium envs: batches, seeds, lives, and errors."""

import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv

from policy_inertia.envs.atari import GameEnv, GameVectorEnv
from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.envs.vector import Envs, Step
from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import record
from policy_inertia.seeds import training_seed

QBERT = "policy_inertia/Qbert-v0"


def game(**options: Any) -> Any:
    """Make one game of Qbert."""
    return make_env(QBERT, options)


def batch(n: int, **options: Any) -> Any:
    """Make a batch of Qbert."""
    return make_vector(QBERT, n, options)[0]


def envs_of(n: int, **options: Any) -> Envs:
    return Envs(QBERT, n, lambda i, k: training_seed(0, i, k), options)


def play(envs: Envs, steps: int, seed: int = 0) -> list[Step]:
    """Take random actions that do not depend on the number of envs; return all steps."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, envs.spaces.discrete.n, (steps, 8))
    return [envs.step(actions[t, : envs.n]) for t in range(steps)]


def test_gymnasiums_checker_accepts_the_env() -> None:
    check_env(game(render_mode="rgb_array").unwrapped)


def test_a_batch_runs_in_one_thread_and_resets_nothing_by_itself() -> None:
    before = threading.active_count(), dict(VectorEnv.metadata)
    vector, spaces = make_vector(QBERT, 3)
    assert isinstance(vector.unwrapped, GameVectorEnv)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    assert (threading.active_count(), VectorEnv.metadata) == before
    assert (spaces.obs_shape, spaces.discrete.n) == ((4, 84, 84), 6)
    games = vector.unwrapped
    obs, info = games.reset(seed=[5, 6, 7])
    assert obs.shape == (3, 4, 84, 84)
    assert obs.dtype == np.uint8
    assert info["lives"].tolist() == [4, 4, 4]
    copy = obs.copy()
    games.step([0, 1, 2])
    np.testing.assert_array_equal(obs, copy)
    vector.close()


def test_a_mask_resets_only_its_envs() -> None:
    vector = batch(3)
    first, _ = vector.reset(seed=[5, 6, 7])
    for _ in range(19):
        vector.step([1, 2, 3])
    last, *_ = vector.step([1, 2, 3])
    mask = np.array([False, True, False])
    obs, info = vector.reset(seed=[None, 6, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(obs[1], first[1])
    np.testing.assert_array_equal(obs[~mask], last[~mask])
    assert info["_lives"].tolist() == mask.tolist()


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_an_episode_does_not_depend_on_the_envs_beside_it(sticky: float) -> None:
    alone, together = (play(envs_of(n, repeat_action_probability=sticky), 450) for n in (1, 3))
    ended = 0
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.next_obs[0], b.next_obs[0])
        assert (a.reward[0], a.terminated[0]) == (b.reward[0], b.terminated[0])
        ended += a.done[0]
    assert ended >= 1


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_an_episode_does_not_depend_on_earlier_games(sticky: float) -> None:
    fresh, used = (game(repeat_action_probability=sticky) for _ in range(2))
    used.reset(seed=1)
    done = False
    while not done:  # a whole game, and one that is cut short
        _, _, done, _, _ = used.step(3)
    used.reset(seed=2)
    used.step(4)
    rng = np.random.default_rng(0)
    for env in (fresh, used):
        env.reset(seed=99)
    for _ in range(200):
        action = rng.integers(6)
        one, other = fresh.step(action), used.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:] == other[1:]


@pytest.mark.parametrize(
    "options", [{}, {"repeat_action_probability": 0.25}, {"episodic_life": True}]
)
@pytest.mark.parametrize("steps", [130, 330])
def test_envs_are_restored_bit_for_bit(steps: int, options: dict[str, Any]) -> None:
    one, two = envs_of(2, **options), envs_of(2, **options)
    play(one, steps)
    assert two.restore(one.state())
    np.testing.assert_array_equal(one.episode, two.episode)
    assert one.actions == two.actions
    for a, b in zip(play(one, 60, seed=1), play(two, 60, seed=1), strict=True):
        np.testing.assert_array_equal(a.next_obs, b.next_obs)
        np.testing.assert_array_equal(a.reward, b.reward)
        np.testing.assert_array_equal(a.done, b.done)
    np.testing.assert_array_equal(one.episode, two.episode)
    np.testing.assert_array_equal(one.obs, two.obs)


@pytest.mark.parametrize("options", [{}, {"episodic_life": True}, {"max_episode_steps": 150}])
def test_a_single_env_is_a_batch_of_one(options: dict[str, Any]) -> None:
    single, vector = game(**options), batch(2, **options)
    stacked, _ = vector.reset(seed=[1, 2])
    obs, _ = single.reset(seed=2)
    rng, seed, ended = np.random.default_rng(0), 2, 0
    for _ in range(500):
        np.testing.assert_array_equal(obs, stacked[1])
        actions = rng.integers(0, 6, 2)
        stacked, rewards, terminated, truncated, infos = vector.step(actions)
        obs, *outcome, info = single.step(actions[1])
        np.testing.assert_array_equal(obs, stacked[1])
        assert outcome == [rewards[1], terminated[1], truncated[1]]
        assert info == {k: v[1] for k, v in infos.items() if k[0] != "_"}
        done = terminated | truncated
        if done.any():
            goes_on = infos.get("goes_on", np.zeros(2, bool))
            seed += 1
            seeds = [None if goes_on[i] or not done[i] else seed for i in range(2)]
            stacked, _ = vector.reset(seed=seeds, options={"reset_mask": done})
            if done[1]:
                ended += 1
                obs, _ = single.reset(seed=seeds[1])
    assert ended >= (2 if options else 1)


def test_a_lost_life_ends_an_episode_and_the_next_one_continues_the_game() -> None:
    lives, whole = game(episodic_life=True), game()
    _, before = whole.reset(seed=4)
    obs, _ = lives.reset(seed=4)
    rng, ends, age, total = np.random.default_rng(0), [], 1, 0.0
    over = False
    while not over:
        action = int(rng.integers(6))
        expected, points, over, _, after = whole.step(action)
        obs, reward, ended, truncated, info = lives.step(action)
        age += 1
        np.testing.assert_array_equal(obs[-min(age, 4) :], expected[-min(age, 4) :])
        assert not obs[: max(4 - age, 0)].any()  # screens of another life are blank
        assert (reward, info["lives"], truncated) == (points, after["lives"], False)
        assert ended == (over or after["lives"] < before["lives"])
        assert info["goes_on"] == (ended and not over)
        total, before = total + points, after
        if ended and not over:
            ends.append(after["lives"])
            with pytest.raises(gym.error.ResetNeeded):
                lives.step(0)
            obs, info = lives.reset()
            assert info["lives"] == after["lives"]
            np.testing.assert_array_equal(obs[-1], expected[-1])
            age = 1
    assert ends == [3, 2, 1]
    assert total > 0
    assert lives.reset()[1]["lives"] == 4


def test_a_seed_begins_a_new_game_even_if_the_old_one_is_not_over() -> None:
    env = game(episodic_life=True)
    first, _ = env.reset(seed=4)
    while not env.step(3)[2]:
        pass
    assert env.unwrapped._one.goes_on[0]
    again, info = env.reset(seed=4)
    np.testing.assert_array_equal(again, first)
    assert info["lives"] == 4


def test_each_life_is_an_episode_of_its_own() -> None:
    envs = envs_of(2, episodic_life=True)
    steps = play(envs, 350)
    ended = np.sum([s.done for s in steps], axis=0)
    np.testing.assert_array_equal(envs.episode, ended)
    assert ended.min() >= 3
    assert np.sum([s.info["goes_on"] for s in steps]) >= 4
    last = max(t for t, s in enumerate(steps) if s.done[0])
    assert len(envs.actions[0]) == len(steps) - 1 - last


def test_a_limit_of_steps_truncates_batches_too() -> None:
    vector = batch(2, max_episode_steps=5)
    vector.reset(seed=0)
    ends = [vector.step([0, 0])[3].tolist() for _ in range(5)]
    assert ends == [[False, False]] * 4 + [[True, True]]


def test_seeds_are_modulo_2_to_the_31_and_resets_without_a_seed_differ() -> None:
    env = game()
    starts = [env.reset(seed=s)[1]["episode_frame_number"] for s in (2**31 + 7, 7, 2**32 - 1)]
    assert starts[0] == starts[1]
    assert len({env.reset()[1]["episode_frame_number"] for _ in range(8)}) > 2


def test_a_game_begins_with_up_to_29_idle_frames() -> None:
    env = game()
    drawn = {env.reset(seed=s)[1]["episode_frame_number"] for s in range(40)}
    assert drawn < set(range(30))
    assert len(drawn) > 12
    for most in (0, 1):
        assert game(noop_max=most).reset(seed=3)[1]["episode_frame_number"] == 0


def test_wrong_resets_and_steps_are_refused() -> None:
    vector = batch(2)
    with pytest.raises(gym.error.ResetNeeded, match="env 0 must be reset"):
        vector.step([0, 0])
    with pytest.raises(InputError, match="first reset must be of all 2"):
        vector.reset(options={"reset_mask": np.array([True, False])})
    vector.reset(seed=0)
    for wrong in ([0, 6], [0], [0.5, 1.0]):
        with pytest.raises(InputError, match="action"):
            vector.step(wrong)
    with pytest.raises(InputError, match="seed must be 0 or more"):
        vector.reset(seed=[-1, 2])
    vector.step([0, 5])


class Up:
    """A policy that always goes up."""

    def predict(
        self,
        observation: np.ndarray,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        assert observation.shape == (1, 4, 84, 84)
        return np.array([2]), state


def test_an_episode_can_be_recorded_in_colour() -> None:
    (recording,) = record(Up(), QBERT, steps=12)
    assert recording.actions == ("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN")
    assert len(recording.steps) == 12
    assert all((m.frame or b"").startswith(b"\x89PNG") for m in recording.steps)


def test_an_unknown_render_mode_is_refused() -> None:
    with pytest.raises(InputError, match=r"no render_mode 'human'.*rgb_array"):
        GameEnv(render_mode="human")
    with pytest.raises(InputError, match="a batch is not drawn"):
        GameVectorEnv(2, render_mode="rgb_array")
    with pytest.raises(gym.error.ResetNeeded):
        GameEnv(render_mode="rgb_array").render()
