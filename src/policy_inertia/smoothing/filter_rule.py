"""The decision of `SmoothActions` for continuous actions: a filter and a limit on movement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.action_filter import (
    ActionFilter,
    Dimension,
    read_dimensions,
)
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.continuous import NO_SCORES, ContinuousCore
from policy_inertia.policies.continuous_function import refuse_other_bounds
from policy_inertia.policies.memory import PREVIOUS_ACTION, Filter, State, memory_of


class FilterRule:
    """Smooths the agent's actions in a batch of envs.

    Args:
        actions: The actions of the env that is wrapped.
        controller: A policy whose filter, limit and dimensions are taken; None to give them.
        rule: The filter; None for the controller's, if it has one.
        limit: The limit on movement; None for the controller's, if it has one.
        dimensions: What each number of an action means; None for what the controller has declared,
            or else all absolute.

    Raises:
        InputError: There is nothing to do, or the controller acts on other actions.
    """

    def __init__(
        self,
        actions: Box,
        controller: ContinuousCore | None = None,
        rule: Rule | None = None,
        limit: MovementLimit | None = None,
        dimensions: Dimension | Sequence[Dimension] | None = None,
    ) -> None:
        self.actions = actions
        if controller is not None:
            _refuse_other_actions(controller, actions)
            rule, limit = rule or controller.rule, limit or controller.limit
            dimensions = controller.dimensions if dimensions is None else dimensions
        if limit is not None and not isinstance(limit, MovementLimit):
            raise InputError(
                f"the limit is {limit}, which counts switches, and the actions are continuous: "
                "give MovementLimit(rate, burst), which bounds their movement"
            )
        if rule is None and limit is None:
            raise InputError(
                "there is neither a filter nor a limit: give rule=Exponential(0.3), "
                "limit=MovementLimit(0.05), or a policy that has one, such as that of smooth"
            )
        declared = read_dimensions("absolute" if dimensions is None else dimensions, actions)
        self.filters: tuple[Filter, ...] = tuple(
            ActionFilter(part, actions, declared, role)
            for part, role in ((rule, "filter"), (limit, "limit"))  # the limit has the last word
            if part is not None
        )
        self.memory = memory_of(actions, self.filters)
        self.rng = np.random.default_rng()  # nothing is drawn; `seed` may replace it

    def step(
        self, obs: Any, action: np.ndarray, state: State, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, State]:
        """Smooth the actions of each env.

        Args:
            obs: Not looked at.
            action: The agent's actions, scaled.
            state: The memory after the last step, or `memory.initial(n)`.
            masks: Not looked at: only lists of actions have masks.

        Returns:
            Which envs take another action than the agent's, and the new memory; `previous_action`
            holds the actions to take.
        """
        taken, fields = action, State()
        for part in self.filters:
            taken, own = part.step(taken, NO_SCORES, state)
            fields |= own
        held = ~np.asarray(self.actions.equal(taken, action))
        return held, {**fields, PREVIOUS_ACTION: taken}


def _refuse_other_actions(controller: Any, actions: Box) -> None:
    if not isinstance(controller, ContinuousCore):
        raise InputError(
            f"the controller is {type(controller).__name__}, and the env's actions are continuous: "
            "give rule=..., limit=..., a ContinuousCore, or a Policy with a controller"
        )
    refuse_other_bounds(controller.name, controller.actions, actions, "the env")
