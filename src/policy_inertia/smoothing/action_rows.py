"""How `smooth` treats each kind of actions; one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.actions.switching import Switching
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import check_budget
from policy_inertia.metrics.filter_curve import check_fluctuation
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.smoothing.goals import BudgetGoal, Goal, LimitGoal
from policy_inertia.smoothing.movement_goal import MovementGoal
from policy_inertia.smoothing.wording import HEADS, MOVEMENT, SWITCHING, Wording


@dataclass(frozen=True)
class Kind:
    """One kind of actions.

    Attributes:
        wording: What is counted, and how it is said.
        goal: From a budget, a limit and rules of switching, each of which may be None, to what a
            policy shall become.
        check_budget: Raises an `InputError` if a number is no budget.
        limit: The class of its limits.
        together: Whether a budget and a limit can be asked for together.
        controller: The method of a controller for every price; "-limit" and "-mu" behind it are
            those of limits and of the paper's inertia. Empty: those of one list of actions.
        plans: Whether a controller learns to plan with a limit; else the limit is put around it.
        no_inertia: Why the paper's inertia cannot be trained, and what to do; empty if it can.
        numbers: Whether actions are numbers, each of which may be declared.
        budget_name: The argument of `smooth` that is a budget of this kind alone; empty if none.
    """

    wording: Wording
    goal: Callable[[Any, Any, Any], Goal]
    check_budget: Callable[[float], None]
    limit: type[Any]
    together: bool = False
    controller: str = ""
    plans: bool = True
    no_inertia: str = ""
    numbers: bool = False
    budget_name: str = ""

    def limit_of(self, limit: Any) -> Any:
        """The limit, which may be given as `(rate, burst)`; None for none.

        Raises:
            InputError: It is a limit of another kind.
        """
        if limit is None or isinstance(limit, self.limit):
            return limit
        if isinstance(limit, tuple):
            return self.limit(*limit)
        raise InputError(
            f"the limit is {limit}: for these actions give {self.limit.__name__}(rate, burst)"
        )

    def obstacle(self, core: Any, limit: Any) -> str:
        """Why no controller can be trained around a core, and what to do; empty if it can."""
        if self.controller and limit is not None and not limit.per_head:
            return (
                "around several heads it plans with a limit for each: give it per_head, or give "
                "joint_core(core) and JointActions(env), see docs/interop.md"
            )
        if self.numbers and core.spaces.pixels:
            return "around continuous actions it cannot see pixels: use filters and limits"
        if self.numbers and set(core.dimensions) != {"absolute"}:
            return "it is for numbers that are all absolute: leave the dimensions out"
        return ""

    def declared(self, core: Any, dimensions: Sequence[Any]) -> Any:
        """The core, with each number of its actions declared.

        Raises:
            InputError: Its actions are not numbers.
        """
        if not self.numbers:
            raise InputError(
                f"dimensions are declared and the actions of {core.name} are Discrete: they are "
                "for continuous actions, so leave them out"
            )
        return core.with_dimensions(dimensions)

    def rules_of(self, costs: Any, dwell: int) -> Switching | None:
        """The rules of switching that are asked for; None if there are none.

        Raises:
            InputError: They make no sense, or the actions do not switch.
        """
        rules = Switching.of(costs, dwell)
        if rules == Switching():
            return None
        if self.numbers:
            raise InputError(
                f"a dwell or costs are asked for ({rules}), which are about switches, and the "
                "actions are continuous: leave them out"
            )
        return rules


def _switching_goal(budget: float | None, limit: Limit | None, rules: Switching | None) -> Goal:
    if limit is not None:
        return LimitGoal(limit, rules)
    assert budget is not None
    return BudgetGoal(budget, rules)


def _movement_goal(budget: float | None, limit: MovementLimit | None, rules: None) -> Goal:
    return MovementGoal(budget, limit)


KINDS: dict[str, Kind] = {
    Discrete.kind: Kind(SWITCHING, _switching_goal, check_budget, Limit),
    MultiDiscrete.kind: Kind(
        HEADS,
        _switching_goal,
        check_budget,
        Limit,
        controller="smooth-heads",
    ),
    Box.kind: Kind(
        MOVEMENT,
        _movement_goal,
        check_fluctuation,
        MovementLimit,
        together=True,
        plans=False,
        no_inertia="has no budget of movement: leave it out, and a controller for every price of "
        "movement is trained",
        numbers=True,
        budget_name="max_fluctuation",
    ),
}
"""By the name of the action space's kind."""
