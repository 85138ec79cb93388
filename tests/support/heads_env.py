"""Tiny envs whose actions have several heads."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np


class Mixer(gym.Env):
    """Three taps, each with its own light: turn every tap to its light."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space: gym.Space = gym.spaces.MultiDiscrete([3, 2, 4], start=[0, 1, 0])
    sizes: ClassVar = np.array([3, 2, 4])
    firsts: ClassVar = np.array([0, 1, 0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self.lights = self.np_random.uniform(-1, 1, 3)
        return self.lights.astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        wanted = np.floor((self.lights + 1) / 2 * self.sizes).clip(0, self.sizes - 1)
        reward = float((np.asarray(action) - self.firsts == wanted).mean())
        self.lights = np.clip(self.lights + self.np_random.normal(0, 0.4, 3), -1, 1)
        self.t += 1
        return self.lights.astype(np.float32), reward, False, self.t >= 20, {}


class Switches(Mixer):
    """The same with switches: MultiBinary actions."""

    action_space = gym.spaces.MultiBinary(3)
    sizes = np.array([2, 2, 2])
    firsts = np.array([0, 0, 0])


class FromZero(Mixer):
    """`Mixer` as Stable-Baselines3 can have it: every head counts from 0."""

    action_space = gym.spaces.MultiDiscrete([3, 2, 4])
    firsts = np.array([0, 0, 0])


class MaskedMixer(FromZero):
    """`FromZero` with an action mask for each head; a masked action is an error."""

    def _draw(self) -> None:
        self.allowed = self.np_random.random(9) < 0.7
        for part in (slice(0, 3), slice(3, 5), slice(5, 9)):
            self.allowed[self.np_random.integers(part.start, part.stop)] = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        result = super().reset(seed=seed)
        self._draw()
        return result

    def action_masks(self) -> np.ndarray:
        return self.allowed.copy()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self.allowed[np.add(action, [0, 3, 5])].all():
            raise ValueError(f"{action} is masked")
        result = super().step(action)
        self._draw()
        return result


class Lamps(Mixer):
    """Twelve switches with a light each, 4,096 combinations: each is to be on where it is dark."""

    observation_space = gym.spaces.Box(-1, 1, (12,), np.float32)
    action_space = gym.spaces.MultiBinary(12)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        gym.Env.reset(self, seed=seed)
        self.t, self.lights = 0, self.np_random.uniform(-1, 1, 12)
        return self.lights.astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        reward = float((np.asarray(action) == (self.lights < 0)).mean())
        self.lights = np.clip(self.lights + self.np_random.normal(0, 0.4, 12), -1, 1)
        self.t += 1
        return self.lights.astype(np.float32), reward, False, self.t >= 20, {}
