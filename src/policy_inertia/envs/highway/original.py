"""The tasks in highway-env itself: its physics and its traffic, behind the same spaces as ours."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import gymnasium as gym
import numpy as np

from ...types import InputError
from . import bridge
from .config import TASKS, Config, has_upstream_reward
from .env import TrafficEnv


class OriginalEnv(TrafficEnv):
    """A task in the original, with the same configuration, starts, observation and reward.

    An episode starts from the state that ours draws from the seed. From there on highway-env moves
    everything, and its observations, rewards and terminations are taken as they are. Only what it
    does not know comes from our formulas, on its state: a `duration` in Merge and Two-Way, the
    price of a lane change in Lane Change, `speed_reward="index"`, a collision's price in Two-Way,
    and Two-Way's reward where the original divides by zero.
    """

    def __init__(
        self,
        task: str = "LaneChange",
        config: Config | None = None,
        preset: str = "paper",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(task, config, preset, render_mode)
        spec = self.simulation.spec
        self._drawn = self.original = bridge.make_original(spec, self.config, render_mode)
        self._own_reward = has_upstream_reward(spec, self.config)
        self._limit = math.inf if self.config["duration"] is None else self.config["duration"]

    def _begin(self, seed: int | None) -> np.ndarray:
        super()._begin(seed)
        bridge.write(self.simulation, self.original)
        return self.original.observation_type.observe()

    def _advance(self) -> tuple[np.ndarray, float, bool, bool]:
        original, simulation = self.original, self.simulation
        try:
            obs, reward, terminated, _, _ = original.step(int(self._action[0]))
            known = self._own_reward
        except ZeroDivisionError:  # everything has moved by then
            obs, reward = original.observation_type.observe(), 0.0
            terminated, known = original._is_terminated(), False
        bridge.read(original, simulation)
        simulation.adopt(self._action)
        if not known:
            reward = simulation.outcomes["reward"][0]
        truncated = original.time >= self._limit
        simulation.scenes["running"] = not (terminated or truncated)
        return obs, float(reward), bool(terminated), bool(truncated)

    def _synchronise(self) -> None:
        """What is drawn is what runs."""

    def close(self) -> None:
        self.original.close()


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
    bridge.require_upstream("highway-env's own simulator")

    return functools.partial(OriginalEnv, names[env_id])
