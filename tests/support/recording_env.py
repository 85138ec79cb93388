"""An env that records the actions it was given."""

from typing import Any

import gymnasium as gym
import numpy as np


class Recorder(gym.Env):
    """Fifty steps with random observations; `taken` holds the actions of the episode."""

    observation_space = gym.spaces.Box(-10, 10, (4,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken: list[int] = []
        return self._obs(), {"fresh": True}

    def _obs(self) -> np.ndarray:
        return self.np_random.normal(size=4).astype(np.float32)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.taken.append(int(action))
        return self._obs(), 0.0, False, len(self.taken) >= 50, {"own": 1}


class Loud(Recorder):
    """Observations so large that the best action of untrained networks follows them."""

    observation_space = gym.spaces.Box(-1e3, 1e3, (4,), np.float32)

    def _obs(self) -> np.ndarray:
        return 20 * super()._obs()
