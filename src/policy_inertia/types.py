"""The few types that every layer shares; no behaviour beyond validation lives here."""

from __future__ import annotations

from typing import Any, NamedTuple

Array = Any  # a NumPy or a JAX array: the same functions serve both
Tree = Any  # a pytree of arrays


class Transition(NamedTuple):
    """One decision and what came of it, or a batch of them.

    `prev_action` is -1 at an episode's start. `discount` is `gamma**k * (1 - terminated)` for a
    decision held for k primitive steps, so that time limits and repetition need no branch in any
    learner: a truncated episode keeps its discount and bootstraps.
    """

    obs: Array
    prev_action: Array
    action: Array
    reward: Array
    discount: Array
    next_obs: Array


class Spec(NamedTuple):
    """The sizes that a learner needs to know of a task."""

    obs_dim: int
    n_actions: int
    aside: int = 0  # of obs_dim, the last numbers: a frozen core's answers, which no network sees
    image: tuple[int, int, int] | None = None  # pixels: channels, height, width
