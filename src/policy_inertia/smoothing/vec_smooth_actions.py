"""`SmoothActions` for Stable-Baselines3's vectorised envs; importing this file imports SB3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from policy_inertia.actions.bucket import Limit
from policy_inertia.envs.env_masks import ACTION_MASKS
from policy_inertia.policies.action_filters.action_filter import Dimension
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.step_rule import step_rule


class VecSmoothActions(VecEnvWrapper):
    """`SmoothActions` around an SB3 VecEnv.

    Put it under VecNormalize, where observations are those that the controller was trained on. Its
    random draws follow `seed`, which SB3 calls before the first reset.
    """

    def __init__(
        self,
        venv: VecEnv,
        controller: Policy | Core | ContinuousCore | None = None,
        hysteresis: float | None = None,
        deterministic: bool = False,
        limit: Limit | MovementLimit | None = None,
        rule: Rule | None = None,
        dimensions: Dimension | Sequence[Dimension] | None = None,
    ) -> None:
        super().__init__(venv)
        self._rule = step_rule(
            venv,
            type(venv).__name__,
            self._has_masks(),
            controller=controller,
            hysteresis=hysteresis,
            deterministic=deterministic,
            limit=limit,
            rule=rule,
            dimensions=dimensions,
        )
        self._actions = self._rule.actions
        self._state = self._rule.memory.initial(self.num_envs)
        self._held = np.zeros(self.num_envs, bool)
        self._obs: Any = None

    def seed(self, seed: int | None = None) -> Any:
        self._rule.rng = np.random.default_rng(seed)
        return self.venv.seed(seed)

    def reset(self) -> Any:
        self._state = self._rule.memory.reset(self._state, np.ones(self.num_envs, bool))
        self._obs = self.venv.reset()
        return self._obs

    def step_async(self, actions: np.ndarray) -> None:
        wanted = self._actions.from_env(actions)
        masks = np.stack(self.venv.env_method(ACTION_MASKS)) if self._has_masks() else None
        self._held, self._state = self._rule.step(self._obs, wanted, self._state, masks)
        self.venv.step_async(self._actions.to_env(self._state[PREVIOUS_ACTION]))

    def _has_masks(self) -> bool:
        return bool(self.venv.has_attr(ACTION_MASKS))

    def step_wait(self) -> Any:
        obs, reward, done, infos = self.venv.step_wait()
        taken = self._actions.to_env(self._state[PREVIOUS_ACTION])
        infos = [
            {**info, "action_taken": action, "held": held}
            for info, action, held in zip(infos, taken.tolist(), self._held.tolist(), strict=True)
        ]
        self._obs, self._state = obs, self._rule.memory.reset(self._state, done)
        return obs, reward, done, infos
