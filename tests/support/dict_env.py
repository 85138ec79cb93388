"""A task with Dict observations: numbers, a choice, switches, and perhaps a picture."""

from typing import Any

import gymnasium as gym
import numpy as np

SPACES: dict[str, gym.Space[Any]] = {
    "zeta": gym.spaces.Box(-np.inf, np.inf, (2, 2), np.float32),
    "gear": gym.spaces.Discrete(3),
    "alpha": gym.spaces.Box(-5, 300, (3,), np.float64),
    "knobs": gym.spaces.MultiDiscrete([2, 3]),
    "lamps": gym.spaces.MultiBinary(2),
}


class Cockpit(gym.Env):
    """The best action is the sign of a noisy number, in Dict observations of every kind.

    The keys are in the order of `SPACES`, which is not that of the alphabet.
    """

    action_space = gym.spaces.Discrete(2)

    def __init__(self, picture: bool = False, numbers_only: bool = False) -> None:
        spaces = SPACES if not numbers_only else {k: SPACES[k] for k in ("zeta", "alpha")}
        image = {"camera": gym.spaces.Box(0, 255, (40, 40, 3), np.uint8)} if picture else {}
        self.observation_space = gym.spaces.Dict([*spaces.items(), *image.items()])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(None if seed is None else seed + 1)
        self.at, self.steps = 0.0, 0
        return self._see(), {}

    def _see(self) -> dict[str, Any]:
        obs = self.observation_space.sample()
        obs["zeta"] = np.full((2, 2), self.at, np.float32)
        obs["zeta"] += self.np_random.normal(0, 1, (2, 2)).astype(np.float32)
        obs["alpha"] = self.np_random.normal([0, 100, -1], [1, 30, 1])
        return obs

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        reward = float((self.at > 0) == bool(action))
        self.at = 0.8 * self.at + float(self.np_random.normal())
        self.steps += 1
        return self._see(), reward, False, self.steps >= 20, {}
