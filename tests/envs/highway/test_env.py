"""The Gymnasium envs: spaces, seeds, masks, infos, and errors."""

import concurrent.futures
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from policy_inertia import InputError
from policy_inertia.envs.highway import TASKS, TrafficEnv, TrafficVectorEnv

IDS = [f"policy_inertia/{name}-v0" for name in TASKS]
SHAPES = dict(zip(IDS, [(10, 5), (10, 5), (5, 7), (10, 5)], strict=True))


def batch(env_id: str, n: int, **settings: Any) -> TrafficVectorEnv:
    envs = gym.make_vec(env_id, num_envs=n, vectorization_mode="vector_entry_point", **settings)
    assert isinstance(envs, TrafficVectorEnv)
    return envs


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_checker_accepts_the_env(env_id: str) -> None:
    env = gym.make(env_id)
    assert env.observation_space.shape == SHAPES[env_id]
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_is_the_same_alone_and_at_any_place_in_a_batch(env_id: str) -> None:
    single, one, eight = gym.make(env_id), batch(env_id, 1), batch(env_id, 8)
    obs, _ = single.reset(seed=5)
    obs_1, _ = one.reset(seed=[5])
    obs_8, _ = eight.reset(seed=[9, 8, 7, 6, 1, 5, 3, 2])
    rng = np.random.default_rng(0)
    for _ in range(60):
        np.testing.assert_array_equal(obs, obs_1[0])
        np.testing.assert_array_equal(obs, obs_8[5])
        actions = rng.integers(eight.simulation.actions_count, size=8)
        obs, reward, terminated, truncated, info = single.step(actions[5])
        obs_1, reward_1, *_ = one.step(actions[5:6])
        obs_8, reward_8, terminated_8, truncated_8, infos = eight.step(actions)
        assert reward == reward_1[0] == reward_8[5]
        assert info["speed"] == infos["speed"][5]
        assert info["crashed"] == infos["crashed"][5]
        assert (terminated, truncated) == (terminated_8[5], truncated_8[5])
        if terminated or truncated:
            break
        over = terminated_8 | truncated_8
        if over.any():
            seeds = [100 + k if o else None for k, o in enumerate(over)]
            obs_8, _ = eight.reset(seed=seeds, options={"reset_mask": over})


def test_a_mask_resets_only_its_envs() -> None:
    envs = batch(IDS[0], 3)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    first, _ = envs.reset(seed=[1, 2, 3])
    moved, *_ = envs.step([1, 1, 1])
    mask = np.array([False, True, False])
    again, info = envs.reset(seed=[None, 2, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(again[1], first[1])
    np.testing.assert_array_equal(again[[0, 2]], moved[[0, 2]])
    assert info["_crashed"].tolist() == mask.tolist()


def test_without_a_seed_the_generator_continues() -> None:
    env = TrafficEnv("Merge")
    first, _ = env.reset(seed=4)
    second, _ = env.reset()
    assert (first != second).any()
    env.reset(seed=4)
    np.testing.assert_array_equal(env.reset()[0], second)


def test_a_pickled_env_continues_where_it_was() -> None:
    env = TrafficEnv("Intersection")
    env.reset(seed=1)
    env.step(2)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.simulation.task is env.simulation.task  # so that nothing is compiled again
    for action in (1, 0, 2):
        np.testing.assert_array_equal(env.step(action)[0], copy.step(action)[0])


def test_a_step_does_not_overwrite_earlier_results() -> None:
    envs = batch(IDS[3], 2)
    first, _ = envs.reset(seed=0)
    copy = first.copy()
    _, reward, *_, info = envs.step([1, 1])
    speed = info["speed"].copy()
    envs.step([4, 4])
    np.testing.assert_array_equal(first, copy)
    np.testing.assert_array_equal(info["speed"], speed)
    assert reward.tolist() == [0.8, 0.8]


def test_batches_run_in_threads() -> None:
    def play(seed: int) -> np.ndarray:
        envs = batch(IDS[3], 4)
        observations = [envs.reset(seed=seed)[0]]
        observations += [envs.step([1, 1, 1, 1])[0] for _ in range(2)]
        return np.array(observations)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        threaded = list(pool.map(play, range(6)))
    for seed, observations in enumerate(threaded):
        np.testing.assert_array_equal(observations, play(seed))


def test_info_is_about_the_ego() -> None:
    env = TrafficEnv("TwoWay")
    _, info = env.reset(seed=0)
    assert info == {"crashed": False, "arrived": False, "speed": 30.0, "lane": 1, "cost": 0.0}
    *_, info = env.step(0)
    assert info["lane"] == 0
    assert info["cost"] == pytest.approx(1 / 15)


@pytest.mark.parametrize("action", [5, -1, 1.5, None, [0, 1]])
def test_an_action_out_of_range_is_refused(action: object) -> None:
    env = TrafficEnv("Merge")
    env.reset(seed=0)
    with pytest.raises(InputError, match="action"):
        env.step(action)


def test_a_step_before_reset_or_after_the_end_is_refused() -> None:
    env = TrafficEnv("TwoWay", {"duration": 1})
    with pytest.raises(gym.error.ResetNeeded, match="must be reset"):
        env.step(1)
    env.reset(seed=0)
    assert env.step(1)[3]
    with pytest.raises(gym.error.ResetNeeded, match="must be reset"):
        env.step(1)
    env.reset()
    env.step(1)


def test_the_env_that_must_be_reset_is_named() -> None:
    envs = TrafficVectorEnv(3, "Merge")
    envs.reset(seed=0, options={"reset_mask": np.array([True, True, False])})
    with pytest.raises(gym.error.ResetNeeded, match="env 2 must be reset"):
        envs.step([1, 1, 1])


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        ([1, 2], None, "list of 3"),
        ("x", None, "list of 3"),
        ([1, -2, 3], None, "0 or more"),
        (None, {"reset_mask": np.zeros(3, bool)}, "reset_mask"),
        (None, {"reset_mask": np.ones(2, bool)}, "reset_mask"),
        (None, {"reset_mask": np.ones(3)}, "reset_mask"),
    ],
)
def test_a_bad_reset_is_refused(seed: object, options: dict[str, Any] | None, message: str) -> None:
    envs = TrafficVectorEnv(3, "Merge")
    with pytest.raises(InputError, match=message):
        envs.reset(seed=seed, options=options)  # type: ignore[arg-type]


@pytest.mark.parametrize("frequency", [1, 3])
def test_a_limit_of_steps_is_the_same_for_a_batch_and_a_single_env(frequency: int) -> None:
    settings: dict[str, Any] = {
        "max_episode_steps": 7,
        "config": {"policy_frequency": frequency, "duration": 4},
    }
    envs = batch("policy_inertia/LaneChange-v0", 2, **settings)
    single = gym.make("policy_inertia/LaneChange-v0", **settings)
    envs.reset(seed=[3, 4])
    single.reset(seed=3)
    ends = []
    for step in range(1, 8):
        *_, truncated_both, _ = envs.step([1, 1])
        *_, truncated, _ = single.step(1)
        assert truncated_both[0] == truncated
        if truncated:
            ends.append(step)
            break
    assert ends == [min(7, 4 * frequency)]


def test_a_limit_of_no_steps_is_refused() -> None:
    with pytest.raises(InputError, match="max_episode_steps must be a whole number from 1"):
        TrafficVectorEnv(max_episode_steps=0)
