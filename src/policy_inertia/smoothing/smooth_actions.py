"""Smoothing inside the env, for people who cannot change their agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.masks import read_masks
from policy_inertia.envs.dict_observations import as_batch
from policy_inertia.envs.env_masks import ACTION_MASKS, env_has_masks
from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.action_filter import Dimension
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.step_rule import step_rule


class SmoothActions(gym.Wrapper):
    """An env that may repeat the last action instead of the agent's new one, or smooth it.

    For Discrete actions there are four ways to decide:

    - With `hysteresis`, the last action is repeated unless the agent's is better by that much in
      the controller's Q-values or log-probabilities. The controller may be any `Policy`, or a core
      from `load_core`.
    - With a policy trained by nsac or ndqn, the last action is repeated with probability
      mu(s, a_prev). An agent that acts like the core then follows the mixed policy.
    - With a dial or a gate, the last action is repeated if, at the price that is set, its critics
      find it worth as much as the agent's action.
    - With a `limit`, the last action is repeated wherever there is no token for a switch. A limit
      needs no controller. Together with one, the controller decides first, and the limit has the
      last word; a policy trained with limit-dqn or limit-sac plans with it.

    Actions with several heads are decided in the same ways, each head for itself.

    Continuous actions go through a filter (`rule`), a limit on movement, or both. A
    `ContinuousCore`, such as that of `smooth`, brings its own. Or a trained controller goes around
    the agent, which stands for its core: a dial goes a part of the way from the last action to the
    agent's, and the inertia of nsac repeats the last action with probability mu. An agent that acts
    like the core then follows the controller's policy.

    If the env has `action_masks()`, an action that it forbids is never repeated, and a limit gives
    way where nothing else is allowed.

    The `info` of each step has `action_taken`, and `held`: whether the agent's action was replaced.

    Args:
        env: The env to wrap; its observations must be those that the controller was trained on.
        controller: What decides; None for a limit or a filter alone.
        hysteresis: The threshold; None for the controller's own, if it has one.
        deterministic: Repeat where mu is at least 0.5, instead of drawing; a dial of continuous
            actions draws nothing.
        limit: A `Limit` on switching, or a `MovementLimit`, which is always kept; None for the
            controller's own, if it has one.
        rule: For continuous actions, a filter such as `Exponential(0.3)`.
        dimensions: For continuous actions, what each number means; see
            `ContinuousCore.with_dimensions`.
    """

    def __init__(
        self,
        env: gym.Env,
        controller: Policy | Core | ContinuousCore | None = None,
        hysteresis: float | None = None,
        deterministic: bool = False,
        limit: Limit | MovementLimit | None = None,
        rule: Rule | None = None,
        dimensions: Dimension | Sequence[Dimension] | None = None,
    ) -> None:
        super().__init__(env)
        self._rule = step_rule(
            env,
            type(env.unwrapped).__name__,
            env_has_masks(env),
            controller=controller,
            hysteresis=hysteresis,
            deterministic=deterministic,
            limit=limit,
            rule=rule,
            dimensions=dimensions,
        )
        self._actions = self._rule.actions
        self._state = self._rule.memory.initial(1)
        self._obs: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode: there is no action to repeat yet."""
        if seed is not None:
            self._rule.rng = np.random.default_rng(seed)
        self._state = self._rule.memory.reset(self._state, np.array([True]))
        self._obs, info = self.env.reset(seed=seed, options=options)
        return self._obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the agent's action, repeat the last one, or go a part of the way."""
        if self._obs is None:
            raise InputError("there is no episode to step in: reset the env first")
        wanted = self._actions.from_env([action])
        held, self._state = self._rule.step(as_batch(self._obs), wanted, self._state, self._masks())
        taken = self._actions.to_env(self._state[PREVIOUS_ACTION])[0]
        self._obs, reward, terminated, truncated, info = self.env.step(taken)
        info = {**info, "action_taken": taken, "held": bool(held[0])}
        return self._obs, reward, terminated, truncated, info

    def _masks(self) -> np.ndarray | None:
        """Which actions the env allows now; None if it does not say."""
        if not env_has_masks(self.env):
            return None
        name, n = type(self.env.unwrapped).__name__, self._actions.width
        return read_masks(self.env.get_wrapper_attr(ACTION_MASKS)(), 1, n, name)
