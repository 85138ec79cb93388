"""What a controller that plans with a limit learns, sets and draws: its tuples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.algorithms import losses
from policy_inertia.algorithms.learning import Critics
from policy_inertia.types import Array, Tree


class PlanningState(NamedTuple):
    critics: Critics
    size: Array  # the unit of the critics; see `value_scale`
    updates: Array


class Setting(NamedTuple):
    """What a limit and its tokens mean at a step."""

    inputs: Array
    """What networks see: (2 B, FEATURES), first if the actions are repeated, then if they are
    switched. Where there is no limit both are the same, so second rows may be left out, from the
    first on. A single row is for all. With costs: (K B, FEATURES), for each of their levels."""
    can_switch: Array
    """(B, 1) 1 where there is a token for a switch, else 0; or one row for all. With costs: (B, K),
    where there are tokens for each of their levels."""


class PlanningParams(NamedTuple):
    critics: Tree  # twins, joined as in learning
    setting: Setting


class Drawn(NamedTuple):
    """The numbers of training episodes; all but the first in millionths of a token."""

    kind: np.ndarray  # WATCHED; else below `core_share` for the core, from there on the controller
    rate: np.ndarray
    burst: np.ndarray
    tokens: np.ndarray


def joined(u: Any, prev: int, can_switch: bool) -> np.ndarray:
    """Q of one row, from the values of repeating and, if they differ, of switching: (1 or 2, A)."""
    if prev < 0 or (len(u) == 1 and can_switch):
        return u[:1]
    if not can_switch:
        u[-1] = losses.IMPOSSIBLE
    u[-1, prev] = u[0, prev]
    return u[-1:]


def permitted(possible: Array, prev_action: Array, log_core: Array | None, xp: Any) -> Array:
    """(B, A) what there are tokens for, and what an action mask allows or forces.

    Args:
        possible: What there are tokens for.
        prev_action: Previous actions.
        log_core: The core's log-probabilities, which say what is forbidden; None: no mask.
        xp: The array module.
    """
    if log_core is None:
        return possible
    forced = losses.allowed_previous(prev_action, log_core, xp) < 0
    return (possible | forced[:, None]) & ~is_forbidden(log_core)


def columns(drawn: np.ndarray) -> Drawn:
    """The numbers of training episodes, (B, 4), by name."""
    return Drawn(drawn[:, 0], *drawn[:, 1:].astype(np.int64).T)
