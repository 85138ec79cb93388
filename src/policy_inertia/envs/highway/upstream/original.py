"""The tasks in highway-env itself: its physics and its traffic, behind the same spaces as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.highway.config import TASKS, has_upstream_reward
from policy_inertia.envs.highway.env import TrafficEnv
from policy_inertia.envs.highway.upstream.bridge import read, require_upstream
from policy_inertia.errors import InputError


class OriginalEnv(TrafficEnv):
    """A task in the original, with the same configuration, starts, observation and reward.

    An episode starts from the state that ours draws from the seed. From there on highway-env moves
    everything, and its observations, rewards and terminations are taken as they are. Only what it
    does not know comes from our formulas, on its state: a `duration` in Merge and Two-Way, the
    price of a lane change in Lane Change, `speed_reward="index"`, a collision's price in Two-Way,
    and Two-Way's reward where the original divides by zero.
    """

    def _begin(self, seed: int | None) -> np.ndarray:
        super()._begin(seed)
        return super()._original().observation_type.observe()

    def _advance(self) -> tuple[np.ndarray, float, bool, bool]:
        original, simulation = self._original(), self.simulation
        known = has_upstream_reward(simulation.spec, self.config)
        try:
            obs, reward, terminated, _, _ = original.step(int(self._action[0]))
        except ZeroDivisionError:  # everything has moved by then
            obs, reward, known = original.observation_type.observe(), 0.0, False
            terminated = original._is_terminated()
        read(original, simulation)
        simulation.adopt(self._action)
        if not known:
            reward = simulation.outcomes["reward"][0]
        truncated = original.time >= simulation.tables.task["duration"][0]
        simulation.scenes["running"] = not (terminated or truncated)
        return obs, float(reward), bool(terminated), bool(truncated)

    def _original(self) -> Any:
        """What runs, and is drawn; it is written to at the start of an episode alone."""
        return super()._original() if self._drawn is None else self._drawn


def on_original(env_id: str) -> Callable[..., gym.Env]:
    """A function that makes one of our tasks in the original, for `evaluate`.

    It takes what `gym.make` takes for ours: `config` and `preset`.
    """
    names = {f"policy_inertia/{name}-v0": name for name in TASKS}
    if env_id not in names:
        raise InputError(
            f"highway-env can run {', '.join(names)}, and the env here is {env_id}: leave the "
            "simulator out"
        )
    require_upstream("highway-env's own simulator")

    def original(**kwargs: Any) -> gym.Env:
        return OriginalEnv(names[env_id], **kwargs)

    original.__name__ = f"{names[env_id]} in highway-env"
    return original
