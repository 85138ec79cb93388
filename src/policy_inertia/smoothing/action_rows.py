"""How `smooth` treats each kind of actions; one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
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
        goal: From a budget and a limit, of which one may be None, to what a policy shall become.
        check_budget: Raises an `InputError` if a number is no budget.
        limit: The class of its limits.
        together: Whether a budget and a limit can be asked for together.
        trains: Whether a controller can be trained.
        plans: Whether a controller learns to plan with a limit; else the limit is put around it.
        inertia: Whether the paper's inertia can be trained.
        numbers: Whether actions are numbers, each of which may be declared.
        remedy: What to do instead where no controller can be trained.
        budget_name: The argument of `smooth` that is a budget of this kind alone; empty if none.
    """

    wording: Wording
    goal: Callable[[Any, Any], Goal]
    check_budget: Callable[[float], None]
    limit: type[Any]
    together: bool = False
    trains: bool = True
    plans: bool = True
    inertia: bool = True
    numbers: bool = False
    remedy: str = "use the filters and limits that are for these"
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

    def obstacle(self, core: Any) -> str:
        """Why no controller can be trained around a core, and what to do; empty if it can."""
        if not self.trains:
            return f"that is for Discrete actions: {self.remedy}"
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


def _switching_goal(budget: float | None, limit: Limit | None) -> Goal:
    if limit is not None:
        return LimitGoal(limit)
    assert budget is not None
    return BudgetGoal(budget)


KINDS: dict[str, Kind] = {
    Discrete.kind: Kind(SWITCHING, _switching_goal, check_budget, Limit),
    MultiDiscrete.kind: Kind(
        HEADS,
        _switching_goal,
        check_budget,
        Limit,
        trains=False,
        remedy="give joint_core(core) and JointActions(env), see docs/interop.md",
    ),
    Box.kind: Kind(
        MOVEMENT,
        MovementGoal,
        check_fluctuation,
        MovementLimit,
        together=True,
        plans=False,
        inertia=False,
        numbers=True,
        budget_name="max_fluctuation",
    ),
}
"""By the name of the action space's kind."""
