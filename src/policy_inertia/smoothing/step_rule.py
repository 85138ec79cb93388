"""What `SmoothActions` asks at every step; one row for each kind of actions."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from policy_inertia.actions import kinds
from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.actions.space import ActionSpace
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.memory import Memory, State
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.controller_rule import ControllerRule
from policy_inertia.smoothing.filter_rule import FilterRule
from policy_inertia.smoothing.head_rule import HeadRule
from policy_inertia.smoothing.hold_rule import HoldRule


class StepRule(Protocol):
    """Which actions are taken instead of the agent's, for a batch of envs."""

    actions: ActionSpace
    memory: Memory
    rng: np.random.Generator

    def step(
        self, obs: Any, action: np.ndarray, state: State, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, State]:
        """Which envs take another action than the agent's, and the new memory."""


def step_rule(env: Any, name: str, masked: bool, **options: Any) -> StepRule:
    """The rule of an env.

    Args:
        env: An env, or vectorised envs, with its spaces.
        name: What messages call it.
        masked: Whether the env has action masks.
        options: The arguments of `SmoothActions`.

    Raises:
        InputError: An argument is wrong, or is for another kind of actions.
    """
    actions: Any = kinds.from_gym(env.action_space, name)
    return ROWS[actions.kind](env.observation_space, env.action_space, name, masked, **options)


def _switching_rule(
    kind: type[HoldRule] | type[HeadRule],
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    name: str,
    masked: bool,
    *,
    controller: Any,
    hysteresis: float | None,
    deterministic: bool,
    limit: Any,
    rule: Any,
    dimensions: Any,
) -> HoldRule | HeadRule:
    if rule is not None or dimensions is not None:
        raise InputError(
            f"{name} has {type(action_space).__name__} actions, and filters of numbers are for "
            "continuous ones: give hysteresis=... or limit=Limit(...) instead"
        )
    spaces = Spaces.of(observation_space, action_space, name)
    return kind(controller, hysteresis, deterministic, spaces, limit, masked)


def _number_rule(
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    name: str,
    masked: bool,
    *,
    controller: Any,
    hysteresis: float | None,
    deterministic: bool,
    limit: Any,
    rule: Any,
    dimensions: Any,
) -> FilterRule | ControllerRule:
    if hysteresis is not None:
        raise InputError(
            f"{name} has continuous actions, and hysteresis compares the scores of Discrete ones: "
            "give rule=DeadBand(0.05), or another filter"
        )
    if not isinstance(controller, Policy):
        actions: Any = kinds.from_gym(action_space, name)
        return FilterRule(actions, controller, rule, limit, dimensions)
    if rule is not None or dimensions is not None:
        raise InputError(
            f"{controller} is a trained controller and takes no filter: leave rule and dimensions "
            "out; limit=MovementLimit(...) may go around it"
        )
    spaces = Spaces.of(observation_space, action_space, name)
    return ControllerRule(controller, deterministic, spaces, limit)


ROWS: dict[str, Any] = {
    Discrete.kind: partial(_switching_rule, HoldRule),
    MultiDiscrete.kind: partial(_switching_rule, HeadRule),
    Box.kind: _number_rule,
}
"""By the kind of actions."""
