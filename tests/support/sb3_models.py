"""Models that Stable-Baselines3 itself trained for a few hundred steps; once per session."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia.envs import highway  # noqa: F401 - registers the tasks

TWO_WAY = "policy_inertia/TwoWay-v0"

EnvClass = str | type[gym.Env]
SB3Model = Callable[[str, EnvClass], tuple[Any, Path]]
MakeModel = Callable[..., Any]


class Pictures(gym.Env):
    """Small pictures in which one row of four is bright: choose it."""

    observation_space = gym.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    action_space = gym.spaces.Discrete(4)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._draw(), {}

    def _draw(self) -> np.ndarray:
        self.row = int(self.np_random.integers(4))
        picture = self.np_random.integers(0, 100, (84, 84, 1), dtype=np.uint8)
        picture[21 * self.row : 21 * (self.row + 1)] += 150
        return picture

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.row)
        self.steps += 1
        return self._draw(), reward, False, self.steps >= 20, {}


def _make(algorithm: str, env: EnvClass, **kwargs: Any) -> Any:
    """Train a model of one of SB3's algorithms."""
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch

    torch.set_num_threads(1)
    cls = getattr(sb3, algorithm, None) or getattr(sb3_contrib, algorithm)
    pictures = env is Pictures
    off_policy: dict[str, Any] = {
        "learning_starts": 100,
        "buffer_size": 1_000,
        "train_freq": 1,
        "learning_rate": 1e-3,
    }
    settings: dict[str, dict[str, Any]] = {
        "DQN": off_policy,
        "QRDQN": {**off_policy, "train_freq": 4, "policy_kwargs": {"n_quantiles": 20}},
        "PPO": {"n_steps": 128, "n_epochs": 4},
        "A2C": {},
    }
    short = settings[algorithm]
    if pictures and algorithm == "PPO":
        short = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    if pictures and algorithm == "DQN":
        short = {"learning_starts": 8, "buffer_size": 64, "batch_size": 8}
    model = cls(
        "CnnPolicy" if pictures else "MlpPolicy",
        gym.make(env) if isinstance(env, str) else env(),
        device="cpu",
        seed=0,
        **{**short, **kwargs},
    )
    return model.learn(16 if pictures else 400)


@pytest.fixture(scope="session")
def sb3_model(tmp_path_factory: pytest.TempPathFactory) -> SB3Model:
    """`sb3_model("DQN", "CartPole-v1")` gives the live model and its zip."""
    folder = tmp_path_factory.mktemp("sb3")

    models: dict[tuple[str, EnvClass], tuple[Any, Path]] = {}

    def get(algorithm: str, env: EnvClass) -> tuple[Any, Path]:
        if (algorithm, env) not in models:
            model = _make(algorithm, env)
            name = env if isinstance(env, str) else env.__name__
            path = folder / f"{algorithm}-{name.replace('/', '-')}.zip"
            model.save(path)
            models[algorithm, env] = model, path
        return models[algorithm, env]

    return get


@pytest.fixture(scope="session")
def make_model() -> MakeModel:
    """`make_model("PPO", "CartPole-v1", **kwargs)` gives a new live model."""
    return _make


def sb3_values(model: Any, obs: np.ndarray) -> np.ndarray:
    """Q-values or log-probabilities as Stable-Baselines3 computes them."""
    import torch

    policy = model.policy
    policy.set_training_mode(False)
    with torch.no_grad():
        tensor = policy.obs_to_tensor(obs)[0]
        if hasattr(policy, "q_net"):
            return policy.q_net(tensor).numpy()
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(tensor).mean(1).numpy()
        return policy.get_distribution(tensor).distribution.logits.numpy()
