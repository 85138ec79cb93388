"""A task with continuous actions: follow a slow target that is seen with noise."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

LENGTH = 40


class Chase(gym.Env[Any, Any]):
    """40 steps with two joints; each step costs the distance between the action and the target."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-3, 3, (2,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.Box(-2, 2, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.taken = 0, list[np.ndarray]()
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.taken.append(np.array(action))
        cost = float(abs(action - self._target()).mean())
        self.t += 1
        return self._seen(), -cost, False, self.t == LENGTH, {}

    def _target(self) -> np.ndarray:
        return np.array([np.sin(self.t / 8), np.cos(self.t / 8)], np.float32)

    def _seen(self) -> np.ndarray:
        noise = self.np_random.normal(0, 0.3, 2)
        return np.clip(self._target() + noise, -3, 3).astype(np.float32)


def follow(obs: np.ndarray) -> np.ndarray:
    """Go where the target is seen: a policy that shakes."""
    return np.clip(obs, -2, 2)


class Follower:
    """The same as an object with `predict`."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> tuple[np.ndarray, Any]:
        return follow(observation), state


class Constant(Follower):
    """A policy that returns the same actions always."""

    def __init__(self, actions: np.ndarray) -> None:
        self.actions = actions

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> tuple[np.ndarray, Any]:
        return self.actions, state
