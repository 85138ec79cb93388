"""Small tasks with several heads, with action masks, and with a memory. Importing registers them.

Hidden levels change rarely and are seen through noise. An action names each level. So a policy that
looks at single observations switches far more often than the levels do. Training a core for them
takes about a minute of one processor core, which `study transfer` makes use of.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.registry import env_id

STEPS = 100
"""Steps of an episode."""


class Signals(gym.Env):
    """Name the hidden levels: a head for each, and the share of right heads as the reward.

    Args:
        sizes: How many levels each signal has.
        noise: Standard deviation of what is seen; neighbouring levels differ by 1.
        change: Probability that a level changes at a step.
    """

    def __init__(
        self, sizes: tuple[int, ...] = (3,) * 7, noise: float = 0.4, change: float = 0.04
    ) -> None:
        self.sizes, self.noise, self.change = np.array(sizes), noise, change
        self.observation_space = gym.spaces.Box(-10, 10, (len(sizes),), np.float32)
        self.action_space: gym.Space[Any] = gym.spaces.MultiDiscrete(self.sizes)
        self.levels, self.t = np.zeros(len(sizes), int), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.levels = 0, self.np_random.integers(0, self.sizes)
        return self._seen(), {}

    def _seen(self) -> np.ndarray:
        centred = self.levels - (self.sizes - 1) / 2
        noise = self.np_random.normal(0, self.noise, len(self.sizes))
        return np.clip(centred + noise, -10, 10).astype(np.float32)

    def reward(self, action: Any) -> float:
        """The share of heads that name their level."""
        return float((np.asarray(action) == self.levels).mean())

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = self.reward(action)
        new = self.np_random.integers(0, self.sizes)
        changes = self.np_random.random(len(self.sizes)) < self.change
        self.levels, self.t = np.where(changes, new, self.levels), self.t + 1
        return self._seen(), reward, False, self.t >= STEPS, {}


class HiddenSignal(Signals):
    """One signal in so much noise that only who remembers knows its level."""

    def __init__(self, levels: int = 2, noise: float = 1.0, change: float = 0.03) -> None:
        super().__init__((levels,), noise, change)
        self.action_space = gym.spaces.Discrete(levels)


class MaskedSignal(HiddenSignal):
    """One signal with four levels; some actions are forbidden for a while. Near is half right."""

    def __init__(
        self, levels: int = 4, noise: float = 0.4, change: float = 0.04, forbidden: float = 0.25
    ) -> None:
        super().__init__(levels, noise, change)
        self.forbidden, self.allowed = forbidden, np.ones(levels, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        result = super().reset(seed=seed)
        self.allowed = self.np_random.random(len(self.allowed)) >= self.forbidden
        return result

    def action_masks(self) -> np.ndarray:
        """Which actions are allowed; all, if none would be."""
        return self.allowed | ~self.allowed.any()

    def reward(self, action: Any) -> float:
        return max(1 - 0.5 * abs(int(action) - int(self.levels[0])), 0.0)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        result = super().step(action)
        new = self.np_random.random(len(self.allowed)) >= self.forbidden
        changes = self.np_random.random(len(self.allowed)) < self.change
        self.allowed = np.where(changes, new, self.allowed)
        return result


CLASSES = (Signals, HiddenSignal, MaskedSignal)
for _kind in CLASSES:
    gym.register(env_id(_kind.__name__), entry_point=f"{__name__}:{_kind.__name__}")
