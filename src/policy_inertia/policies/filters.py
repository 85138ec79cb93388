"""The filters of a policy, from what it is to hold: actions, a threshold, a limit.

Each kind of actions has a row: Discrete ones switch, Box ones move.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms.interface import Limited
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.action_filter import ActionFilter, read_dimensions
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.head_filters import Threshold
from policy_inertia.policies.memory import Filter, Hold
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.policies.switch_rules import switch_filters


def filters_of(
    method: str,
    spaces: Spaces,
    repeats: tuple[int, ...],
    hysteresis: Threshold | None,
    limit: Limit | MovementLimit | None,
    frozen: bool,
    switching: Switching | None = None,
) -> tuple[Filter, ...]:
    """Return the filters of a policy, in the order in which they act; the limit is the last.

    Args:
        method: The policy's method, for error messages.
        spaces: The env's spaces.
        repeats: For how many steps the method may hold an action.
        hysteresis: The threshold of hysteresis; None without it.
        limit: The limit on switching, or on the movement of Box actions; None without one.
        frozen: Whether the policy is a core alone, so that its scores are the core's.
        switching: What switches cost, and how long actions are held; None without such rules.

    Raises:
        InputError: The method holds its actions by itself, the core gives no scores, or the
            filter is for another kind of actions.
    """
    if not spaces.actions.finite:
        _refuse_switching(method, switching)
        return _hold(spaces, repeats) + _box_filters(method, spaces.actions, hysteresis, limit)
    _refuse_limit(limit, Limit, "Discrete", "with_limit(rate, burst), which counts switches")
    given = {"hysteresis": hysteresis, "a limit": limit, "a dwell or costs": switching}
    for name, value in given.items():
        if value is not None and repeats != (1,):
            raise InputError(
                f"{method} holds its actions by itself: put {name} around a method "
                "that decides at every step"
            )
    if hysteresis is not None and frozen and isinstance(spaces, SpacesWithCore):
        spaces.core.refuse_scoreless()
    counted: Any = limit
    return _hold(spaces, repeats) + switch_filters(
        spaces.actions, spaces.masked, hysteresis, counted, switching
    )


def _hold(spaces: Spaces, repeats: tuple[int, ...]) -> tuple[Filter, ...]:
    return () if repeats == (1,) else (Hold(repeats, spaces.actions),)


def planned_rules(
    method: str, algorithm: Any, limit: Any, switching: Switching | None
) -> Switching | None:
    """The rules of a policy; one that plans with a limit has the costs that it learned.

    Raises:
        InputError: It is given a limit and other costs, with which it cannot plan.
    """
    if not isinstance(algorithm, Limited):
        return switching
    if limit is not None and algorithm.per_head and not limit.per_head:
        raise InputError(
            f"{method} plans with a limit for each head, and the limit is {limit}: give per_head"
        )
    costs = None if switching is None else switching.costs
    if limit is not None and costs not in (None, algorithm.costs):
        raise InputError(
            f"{method} plans with the costs that it learned, and other ones are given: train it "
            "with the setting costs, the table row by row"
        )
    if algorithm.costs is None:
        return switching
    return replace(switching or Switching(), costs=algorithm.costs)


def _refuse_switching(method: str, switching: Switching | None) -> None:
    if switching is not None:
        raise InputError(
            f"the actions of {method} are continuous, and a dwell and costs are about switches: "
            "smooth it with a filter or a limit on movement"
        )


def _box_filters(
    method: str, actions: Any, hysteresis: Threshold | None, limit: Any
) -> tuple[Filter, ...]:
    """The filters of a policy with Box actions."""
    if hysteresis is not None:
        raise InputError(
            f"the actions of {method} are continuous, and hysteresis compares the scores of "
            "Discrete ones: smooth it with a filter, as in load_core(policy).with_filter(...)"
        )
    _refuse_limit(limit, MovementLimit, "continuous", "MovementLimit(rate, burst)")
    dimensions = read_dimensions("absolute", actions)
    return () if limit is None else (ActionFilter(limit, actions, dimensions, "limit"),)


def _refuse_limit(limit: Any, kind: type[Any], actions: str, remedy: str) -> None:
    if limit is not None and not isinstance(limit, kind):
        raise InputError(f"the limit is {limit} and the actions are {actions}: give {remedy}")
