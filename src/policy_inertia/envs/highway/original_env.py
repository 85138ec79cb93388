"""The tasks run by highway-env itself, with the same spaces as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs import registry
from policy_inertia.envs.highway.env import TrafficEnv
from policy_inertia.envs.highway.tasks import TASKS
from policy_inertia.envs.highway.upstream.configuration import has_upstream_reward
from policy_inertia.envs.highway.upstream.original import read, require_upstream
from policy_inertia.errors import InputError


class OriginalEnv(TrafficEnv):
    """A task in highway-env, with our configuration, first states, observation and reward.

    An episode begins in the state that our simulator draws from the seed. Then highway-env moves
    everything, and its observations, rewards and terminations are used. Our formulas compute only
    what highway-env does not know, from its state: a `duration` in Merge and Two-Way, the reward
    terms that it lacks (see docs/highway.md), and Two-Way's reward where it divides by zero.
    """

    def _begin(self, seed: int | None) -> np.ndarray:
        super()._begin(seed)
        return super()._original().observation_type.observe()

    def _advance(self) -> tuple[np.ndarray, float, bool, bool]:
        original, simulation = self._original(), self.simulation
        computes_reward = has_upstream_reward(simulation.task, self.config)
        try:
            action = self._action[0] if simulation.continuous else int(self._action[0])
            obs, reward, terminated, _, _ = original.step(action)
        except ZeroDivisionError:  # in the reward, after everything has moved
            obs, reward, computes_reward = original.observation_type.observe(), 0.0, False
            terminated = original._is_terminated()
        read(original, simulation)
        simulation.adopt(self._action)
        if not computes_reward:
            reward = simulation.outcomes["reward"][0]
        truncated = original.time >= simulation.tables.settings["duration"][0]
        simulation.scenes["running"] = not (terminated or truncated)
        return obs, float(reward), bool(terminated), bool(truncated)

    def _original(self) -> Any:
        """Return the running env; our state is written to it only when an episode begins."""
        return super()._original() if self._drawn is None else self._drawn


def on_original(env_id: str) -> Callable[..., gym.Env]:
    """Return a function that makes one of our tasks in highway-env, for `evaluate`.

    The function takes `config` and `preset`, as `gym.make` does for our tasks.
    """
    names = {registry.env_id(name): name for name, task in TASKS.items() if task.upstream}
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
