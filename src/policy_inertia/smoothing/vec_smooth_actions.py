"""`SmoothActions` for Stable-Baselines3's vectorised envs; importing this imports SB3."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from policy_inertia.envs.spaces import Spaces
from policy_inertia.policies.cores import Core
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.smooth_actions import Filter


class VecSmoothActions(VecEnvWrapper):
    """`SmoothActions` around an SB3 VecEnv; put it under VecNormalize, where observations are raw.

    Its own seed follows from `seed`, which SB3 calls before the first reset.
    """

    def __init__(
        self,
        venv: VecEnv,
        controller: Policy | Core,
        hysteresis: float | None = None,
        deterministic: bool = False,
    ) -> None:
        super().__init__(venv)
        spaces = Spaces.of(venv.observation_space, venv.action_space, type(venv).__name__)
        self._filter = Filter(controller, hysteresis, deterministic, spaces)
        self._first = spaces.discrete.first
        self._obs: Any = None
        self._prev = np.full(self.num_envs, -1)
        self._held = np.zeros(self.num_envs, bool)

    def seed(self, seed: int | None = None) -> Any:
        self._filter.rng = np.random.default_rng(seed)
        return self.venv.seed(seed)

    def reset(self) -> Any:
        self._prev = np.full(self.num_envs, -1)
        self._obs = self.venv.reset()
        return self._obs

    def step_async(self, actions: np.ndarray) -> None:
        wanted = np.asarray(actions).reshape(self.num_envs) - self._first
        self._held = self._filter.held(self._obs, self._prev, wanted)
        self._prev = np.where(self._held, self._prev, wanted)
        self.venv.step_async(self._prev + self._first)

    def step_wait(self) -> Any:
        obs, reward, done, infos = self.venv.step_wait()
        taken = (self._prev + self._first).tolist()
        infos = [
            {**info, "action_taken": a, "held": h}
            for info, a, h in zip(infos, taken, self._held.tolist(), strict=True)
        ]
        self._obs, self._prev = obs, np.where(done, -1, self._prev)
        return obs, reward, done, infos
