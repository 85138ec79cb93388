"""Two-Way with continuous actions as a Gymnasium env, alone and in a batch."""

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import policy_inertia as pi
from policy_inertia import InputError
from policy_inertia.envs.highway import TrafficEnv, TrafficVectorEnv
from policy_inertia.envs.highway.simulator.scene_store import SceneStore
from policy_inertia.envs.making import make_env, make_vector
from tests.support.highway_scenes import empty_scene, put

STEERED: dict[str, Any] = {"action": {"type": "ContinuousAction"}}
ID = "policy_inertia/TwoWay-v0"


def steered(**options: Any) -> dict[str, Any]:
    return {"action": STEERED["action"] | options}


def test_the_action_space_is_highway_envs() -> None:
    env = make_env(ID, {"config": STEERED})
    assert env.action_space == gym.spaces.Box(-1, 1, (2,), np.float32)
    check_env(env.unwrapped, skip_render_check=True)
    assert TrafficEnv("TwoWay", STEERED).action_names == ("acceleration", "steering")
    one = TrafficEnv("TwoWay", steered(longitudinal=False))
    assert one.action_space == gym.spaces.Box(-1, 1, (1,), np.float32)
    assert one.action_names == ("steering",)


def test_an_episode_is_the_same_again_alone_and_at_any_place_in_a_batch() -> None:
    vector, _ = make_vector(ID, 4, {"config": STEERED})
    assert isinstance(vector, TrafficVectorEnv)
    assert vector.action_space.shape == (4, 2)
    draws = np.random.default_rng(0)
    endings = set()
    for _ in range(2):  # the second time from the same seed
        single = TrafficEnv("TwoWay", STEERED)
        obs, _ = single.reset(seed=5)
        batch, _ = vector.reset(seed=[9, 8, 5, 6])
        for step in range(30):
            np.testing.assert_array_equal(obs, batch[2])
            actions = draws.uniform(-1, 1, (4, 2)).astype(np.float32) * [1, 0.02]
            actions[2] = [np.sin(step), np.cos(step) / 50]
            obs, reward, *ends, info = single.step(actions[2])
            batch, rewards, terminated, truncated, infos = vector.step(actions)
            assert reward == rewards[2]
            assert ends == [terminated[2], truncated[2]]
            assert info == {name: infos[name][2] for name in info}
            if any(ends):
                endings.add((step, obs.tobytes()))
                break
            over = terminated | truncated
            if over.any():
                batch, _ = vector.reset(seed=1, options={"reset_mask": over})
    assert len(endings) == 1


def test_a_copied_scene_and_a_pickled_env_go_on_like_the_original() -> None:
    env = TrafficEnv("TwoWay", STEERED)
    env.reset(seed=1)
    env.step([0.2, 0.03])
    store = SceneStore(1, 2)
    store.put(np.array([0]), env.simulation.scenes)
    copy = pickle.loads(pickle.dumps(env))
    after = env.step([-0.3, -0.02])
    np.testing.assert_array_equal(copy.step([-0.3, -0.02])[0], after[0])
    other = TrafficEnv("TwoWay", STEERED)
    other.reset(seed=2)
    store.take(np.array([0]), other.simulation.scenes)
    np.testing.assert_array_equal(other.step([-0.3, -0.02])[0], after[0])


def test_evaluate_gives_the_same_episodes_in_a_batch_and_in_single_envs() -> None:
    def driver(obs: np.ndarray) -> np.ndarray:
        ego = obs.reshape(-1, 10, 5)[:, 0]
        steering = np.clip(-0.1 * (ego[:, 2] - 0.5) - ego[:, 4], -1, 1)
        return np.stack([np.full(len(ego), -0.2), steering], axis=1).astype(np.float32)

    batch = gym.make(ID, config=STEERED)
    policy = pi.load_core(driver, batch).with_filter(pi.Exponential(0.5))
    evaluations = [
        pi.evaluate(policy, env, 3, seed=1).episodes
        for env in (batch, lambda: TrafficEnv("TwoWay", STEERED))
    ]
    for one, other in zip(*evaluations, strict=True):
        assert one.return_ == other.return_
        np.testing.assert_array_equal(one.actions, other.actions)
    assert len({len(episode.actions) for episode in evaluations[0]}) > 1


def test_numbers_outside_the_box_are_clipped() -> None:
    envs = TrafficVectorEnv(3, "TwoWay", STEERED)
    envs.reset(seed=[1, 1, 1])
    obs, *_ = envs.step(np.array([[1, -1], [1.5, -7], [np.inf, -np.inf]]))
    np.testing.assert_array_equal(obs[0], obs[1])
    np.testing.assert_array_equal(obs[0], obs[2])


def test_whole_numbers_are_actions_too() -> None:
    envs = TrafficVectorEnv(2, "TwoWay", STEERED)
    envs.reset(seed=[1, 1])
    whole, *_ = envs.step([[1, 0], [1, 0]])
    envs.reset(seed=[1, 1])
    np.testing.assert_array_equal(envs.step(np.array([[1.0, 0.0]] * 2))[0], whole)


@pytest.mark.parametrize(
    "action", [[np.nan, 0], [0, np.nan], 1, [0.1], [0.1, 0.2, 0.3], [[0.1, 0.2]], None, "left"]
)
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = TrafficEnv("TwoWay", STEERED)
    env.reset(seed=0)
    with pytest.raises(InputError, match="an action is") as error:
        env.step(action)
    assert "\n" not in str(error.value)
    env.step([0, 0])  # the env is as it was


def test_a_batch_refuses_a_wrong_shape_and_a_nan_in_any_env() -> None:
    envs = TrafficVectorEnv(2, "TwoWay", STEERED)
    envs.reset(seed=0)
    for actions in ([[0, 0]], [0, 0], [[0, 0], [0, np.nan]]):
        with pytest.raises(InputError, match="an action is"):
            envs.step(np.array(actions))


def test_an_action_that_is_not_clipped_must_be_finite() -> None:
    env = TrafficEnv("TwoWay", steered(clip=False))
    env.reset(seed=0)
    with pytest.raises(InputError, match="an action is"):
        env.step([np.inf, 0])
    env.step([1.5, 0])
    assert env.simulation.scenes["acceleration"][0, 0] == 7.5


def test_a_step_before_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        TrafficEnv("TwoWay", STEERED).step([0, 0])


@pytest.mark.parametrize(
    ("x", "y", "heading", "speed", "reward"),
    [
        (100, 4, 0, 30, 0.8),  # fast on the right lane
        (100, 4, 0, 25, 0.4),
        (100, 4, 0, 39, 0.8),  # no more than for 30 m/s
        (100, 4, 0, 10, 0.0),
        (100, 0, 0, 30, 1.0),  # on the left lane
        (400, 0, np.pi, 30, 0.0),  # turned around: with the oncoming traffic
        (100, 9, 0, 30, 0.0),  # beside the road
        (100, -9, 0, 30, 0.0),
    ],
)
def test_speed_along_the_road_and_the_left_lane_are_rewarded_on_the_road_only(
    x: float, y: float, heading: float, speed: float, reward: float
) -> None:
    simulation = empty_scene("TwoWay", STEERED)
    put(simulation, 0, x, y, heading, speed)
    simulation.step(np.zeros((1, 2)))
    assert simulation.outcomes["reward"][0] == pytest.approx(reward)
    assert not simulation.outcomes["terminated"][0]
