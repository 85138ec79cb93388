"""Point masses with continuous actions: small tasks whose best smooth behaviour is known."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

LENGTH = 40
PERIOD = 10


class HoldStill(gym.Env[Any, Any]):
    """Push a point to 0 and stay there: at rest the best action is 0, and any other moves it.

    The state is (position, speed, noise). The noise means nothing, but a policy may follow it.
    """

    observation_space: gym.Space[Any] = gym.spaces.Box(-10, 10, (3,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.Box(-2, 2, (1,), np.float32)
    render_mode = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.position, self.speed = 0, self.np_random.uniform(-1, 1), 0.0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.t += 1
        self.speed = 0.8 * self.speed + 0.1 * float(action[0])
        self.position = float(np.clip(self.position + self.speed, -3, 3))
        return self._seen(), -(self.position**2), False, self.t == LENGTH, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.position, self.speed, self.np_random.normal()], np.float32)


class SquareWave(gym.Env[Any, Any]):
    """Follow a square wave: the best action jumps every ten steps and is still between."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-10, 10, (2,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.Box(-1, 1, (1,), np.float32)
    render_mode = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(2 * PERIOD))
        self.left = LENGTH
        return self._seen(), {}

    @property
    def wanted(self) -> float:
        """The level of the wave."""
        return 0.8 if self.t // PERIOD % 2 else -0.8

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        reward = -float((action[0] - self.wanted) ** 2)
        self.t, self.left = self.t + 1, self.left - 1
        return self._seen(), reward, False, self.left == 0, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.wanted, self.np_random.normal()], np.float32)


class TwoJoints(SquareWave):
    """The first number must follow the wave, and the second does nothing: it should be still."""

    action_space: gym.Space[Any] = gym.spaces.Box(-1, 1, (2,), np.float32)
