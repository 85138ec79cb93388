"""A callback of Stable-Baselines3 that logs how much the actions oscillate while it trains."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from policy_inertia.actions import kinds
from policy_inertia.errors import InputError
from policy_inertia.interop.record_oscillation import figures_of

EPISODES = 100
"""The last episodes over which SB3 takes its means too."""


class OscillationCallback:
    """Log the measures of the actions that the env gets, as means over the last 100 episodes.

    The names are those of the registry with `oscillation/` in front, for Discrete and Box actions.
    `OscillationCallback(...)` returns a `BaseCallback` of Stable-Baselines3, which is imported only
    then. With `step_time`, the seconds of a step, the figures are also given per second.
    """

    def __new__(cls, step_time: float | None = None) -> Any:
        """Return the callback.

        Args:
            step_time: Seconds of a step; with it, the figures are also given per second.

        Raises:
            InputError: Stable-Baselines3 is not installed.
        """
        try:
            from stable_baselines3.common.callbacks import BaseCallback
        except ImportError:
            raise InputError(
                "OscillationCallback needs Stable-Baselines3: pip install policy-inertia[sb3]"
            ) from None

        class Callback(BaseCallback):
            def _on_training_start(self) -> None:
                space = self.training_env.action_space
                actions = kinds.from_gym(space, type(self.training_env).__name__)
                self.log = EpisodeLog(actions, self.training_env.num_envs, step_time)

            def _on_step(self) -> bool:
                # PPO and A2C clip what their policies sample
                actions = self.locals.get("clipped_actions", self.locals.get("actions"))
                if self.log.add(actions, self.locals["dones"]):
                    for name, figure in self.log.means().items():
                        self.logger.record(name, figure)
                return True

        return Callback()


class EpisodeLog:
    """The figures of the last episodes of several envs."""

    def __init__(self, actions: Any, n: int, step_time: float | None = None) -> None:
        self._actions, self._step_time = actions, step_time
        self._taken: list[list[np.ndarray]] = [[] for _ in range(n)]
        self._figures: deque[dict[str, float]] = deque(maxlen=EPISODES)

    def add(self, actions: Any, dones: Any) -> bool:
        """Add a step of every env; return whether an episode ended."""
        rows = self._actions.from_env(np.asarray(actions))
        for taken, row, done in zip(self._taken, rows, dones, strict=True):
            taken.append(row)
            if done:
                self._figures.append(figures_of(taken, self._actions, self._step_time))
                taken.clear()
        return bool(np.any(dones))

    def means(self) -> dict[str, float]:
        """The mean of each figure over the last episodes that have it."""
        names = dict.fromkeys(name for figures in self._figures for name in figures)
        return {
            name: float(np.mean([f[name] for f in self._figures if name in f])) for name in names
        }
