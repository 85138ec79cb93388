"""A tiny env with action masks: doors that open and close."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Doors(gym.Env):
    """Four doors in a row, of which some are open: go through one near the light.

    Going through a closed door is an error, so that a test notices a masked action.
    """

    observation_space = gym.spaces.Box(0, 1, (5,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._see(), {}

    def _see(self) -> np.ndarray:
        self.open = self.np_random.random(4) < 0.7
        self.open[self.np_random.integers(4)] = True
        self.light = self.np_random.random()
        return np.array([self.light, *self.open], np.float32)

    def action_masks(self) -> np.ndarray:
        return self.open.copy()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self.open[int(action)]:
            raise ValueError(f"door {action} is closed")
        reward = float(abs(int(action) / 3 - self.light) < 0.3)
        self.t += 1
        return self._see(), reward, False, self.t >= 20, {}
