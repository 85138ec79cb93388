"""The recipe for a Highway task, followed literally."""

import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.envs import highway
from policy_inertia.envs.highway import TrafficVectorEnv
from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.envs.registry import TASKS
from tests.support.recipes import Follow

PLATOON = "policy_inertia/Platoon-v0"


@pytest.fixture(autouse=True)
def new_task(follow: Follow) -> Iterator[None]:
    follow("A Highway task", TASKS)
    yield
    gym.registry.pop(PLATOON, None)


class Slow:
    """A policy that always drives at the lowest target speed."""

    def predict(
        self,
        observation: np.ndarray,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        return np.zeros(len(observation), np.int64), state


def test_the_task_can_be_made_stepped_and_evaluated() -> None:
    env = make_env(PLATOON)
    vector, spaces = make_vector(PLATOON, 2)
    assert isinstance(vector, TrafficVectorEnv)
    assert spaces.obs_shape == (5, 5)
    obs, _ = env.reset(seed=3)
    both, _ = vector.reset(seed=[3, 4])
    for action in (1, 2, 0):
        np.testing.assert_array_equal(obs, both[0])
        obs, reward, _, _, info = env.step(action)
        both, rewards, *_ = vector.step(np.array([action, 1]))
        assert reward == rewards[0]
    assert info["speed"] > 20
    figures = pi.evaluate(Slow(), PLATOON, 3).summary()
    assert figures["episodes"] == 3
    assert figures["length"] == 20
    assert figures["crash_rate"] == 0


def test_its_own_setting_reaches_compiled_code() -> None:
    rewards = []
    for weight in (0.0, -1.0):
        env = make_env(PLATOON, {"config": {"gap_reward": weight}})
        env.reset(seed=0)
        rewards.append(float(env.step(1)[1]))
    assert rewards[1] < rewards[0] - 0.2
    with pytest.raises(pi.InputError, match="Platoon has no setting 'gap_rewards'"):
        make_env(PLATOON, {"config": {"gap_rewards": 1}})


def test_it_is_pickled_by_its_module() -> None:
    env = make_env(PLATOON).unwrapped
    env.reset(seed=0)
    copy = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(copy.step(2)[0], env.step(2)[0])


def test_without_a_counterpart_it_cannot_be_drawn() -> None:
    with pytest.raises(pi.InputError, match="Platoon has no counterpart in highway-env"):
        make_env(PLATOON, {"render_mode": "rgb_array"})
    with pytest.raises(pi.InputError, match="Platoon has no counterpart in highway-env"):
        highway.parity("Platoon")
