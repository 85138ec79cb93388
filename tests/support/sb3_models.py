"""Models that Stable-Baselines3 itself trained, for a few hundred steps; once a session."""

from collections.abc import Callable
from functools import cache

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia.envs import highway  # noqa: F401 - registers the tasks

TWO_WAY = "policy_inertia/TwoWay-v0"


class Pictures(gym.Env):
    """Small pictures in which one row of four is bright: choose it."""

    observation_space = gym.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._draw(), {}

    def _draw(self):
        self.row = int(self.np_random.integers(4))
        picture = self.np_random.integers(0, 100, (84, 84, 1), dtype=np.uint8)
        picture[21 * self.row : 21 * (self.row + 1)] += 150
        return picture

    def step(self, action):
        reward = float(action == self.row)
        self.steps += 1
        return self._draw(), reward, False, self.steps >= 20, {}


def _make(algorithm: str, env: str | type[gym.Env], **kwargs):
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch

    torch.set_num_threads(1)
    cls = getattr(sb3, algorithm, None) or getattr(sb3_contrib, algorithm)
    made = env() if isinstance(env, type) else gym.make(env)
    policy = "CnnPolicy" if env is Pictures else "MlpPolicy"
    off_policy = {
        "learning_starts": 100,
        "buffer_size": 1_000,
        "train_freq": 1,
        "learning_rate": 1e-3,
    }
    short = {
        "DQN": off_policy,
        "QRDQN": {**off_policy, "train_freq": 4, "policy_kwargs": {"n_quantiles": 20}},
        "PPO": {"n_steps": 128, "n_epochs": 4},
        "A2C": {},
    }[algorithm]
    if env is Pictures and algorithm == "PPO":
        short = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    if env is Pictures and algorithm == "DQN":
        short = {"learning_starts": 8, "buffer_size": 64, "batch_size": 8}
    model = cls(policy, made, device="cpu", seed=0, **{**short, **kwargs})
    return model.learn(16 if env is Pictures else 400)


@pytest.fixture(scope="session")
def sb3_model(tmp_path_factory) -> Callable:
    """`sb3_model("DQN", "CartPole-v1")` -> the live model and its zip."""
    folder = tmp_path_factory.mktemp("sb3")

    @cache
    def get(algorithm: str, env: str | type[gym.Env]):
        model = _make(algorithm, env)
        name = env if isinstance(env, str) else env.__name__
        path = folder / f"{algorithm}-{name.replace('/', '-')}.zip"
        model.save(path)
        return model, path

    return get


@pytest.fixture(scope="session")
def make_model() -> Callable:
    return _make
