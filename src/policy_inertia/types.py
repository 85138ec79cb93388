"""The few data types that every layer shares."""

from __future__ import annotations

from typing import Any, NamedTuple

Array = Any  # a NumPy or a JAX array: the same functions serve both
Tree = Any  # a pytree of arrays


class Transition(NamedTuple):
    """One decision and its outcome, or a batch of them.

    `prev_action` is the null action at an episode's start. `discount` is
    `gamma**k * (1 - terminated)` for a decision held for k primitive steps. So time limits and
    repetition need no branch in any learner: a truncated episode keeps its discount and bootstraps.
    """

    obs: Array
    prev_action: Array
    action: Array
    reward: Array
    discount: Array
    next_obs: Array
