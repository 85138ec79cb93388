"""A Gymnasium wrapper that measures the actions of each episode while somebody trains elsewhere."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policy_inertia.actions import kinds
from policy_inertia.actions.space import ActionSpace
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import Evaluation, action_measures

PREFIX = "oscillation/"
"""The beginning of the names in `info`."""


class RecordOscillation(gym.Wrapper[Any, Any, Any, Any]):
    """Put the measures of an episode's actions into the `info` of its last step.

    The names are those of the registry with `oscillation/` in front, such as
    `oscillation/action_fluctuation` for Box actions and `oscillation/oscillation_ratio`. What the
    agent gives is measured: put the wrapper outside of those that change actions.

    Args:
        env: An env with Discrete or Box actions.
        step_time: Seconds of a step; with it, the figures are also given per second.
    """

    def __init__(self, env: gym.Env, step_time: float | None = None) -> None:
        super().__init__(env)
        self._actions = kinds.from_gym(env.action_space, type(env.unwrapped).__name__)
        self._step_time = step_time
        self._taken: list[np.ndarray] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        self._taken = []
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the action; at the end of the episode, measure all of them."""
        self._taken.append(self._actions.from_env(np.asarray(action)[None])[0])
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = {**info, **figures_of(self._taken, self._actions, self._step_time)}
        return obs, reward, terminated, truncated, info


def figures_of(
    taken: list[np.ndarray], actions: ActionSpace, step_time: float | None = None
) -> dict[str, float]:
    """The measures of one episode's actions by name, with `oscillation/` in front.

    Args:
        taken: The actions as `actions` has them.
        actions: The action space.
        step_time: Seconds of a step; None leaves out the figures per second.
    """
    unknown: Any = None
    evaluation = Evaluation([Episode(unknown, np.array(taken), unknown, None, actions)])
    figures = {m.name: m.compute(evaluation) for m in action_measures(step_time)}
    return {f"{PREFIX}{name}": figure for name, figure in figures.items() if figure is not None}
