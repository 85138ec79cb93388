"""The filters of a policy, from what it is to hold: actions, a threshold, a limit."""

from __future__ import annotations

from policy_inertia.actions.bucket import Limit
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import Filter, Hold
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.policies.token_bucket import TokenBucket


def filters_of(
    method: str,
    spaces: Spaces,
    repeats: tuple[int, ...],
    hysteresis: float | None,
    limit: Limit | None,
    frozen: bool,
) -> tuple[Filter, ...]:
    """Return the filters of a policy, in the order in which they act; the limit is the last.

    Args:
        method: The policy's method, for error messages.
        spaces: The env's spaces.
        repeats: For how many steps the method may hold an action.
        hysteresis: The threshold of hysteresis; None without it.
        limit: The limit on switching; None without one.
        frozen: Whether the policy is a core alone, so that its scores are the core's.

    Raises:
        InputError: The method holds its actions by itself, or the core gives no scores.
    """
    for name, value in {"hysteresis": hysteresis, "a limit": limit}.items():
        if value is not None and repeats != (1,):
            raise InputError(
                f"{method} holds its actions by itself: put {name} around a method "
                "that decides at every step"
            )
    if hysteresis is not None and frozen and isinstance(spaces, SpacesWithCore):
        spaces.core.refuse_scoreless()
    filters: tuple[Filter, ...] = () if repeats == (1,) else (Hold(repeats),)
    if hysteresis is not None:
        filters += (Hysteresis(hysteresis),)
    if limit is not None:
        filters += (TokenBucket(limit, spaces.actions, spaces.masked),)
    return filters
