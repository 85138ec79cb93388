"""The few types that every layer shares; no behaviour beyond validation lives here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

Array = Any  # a NumPy or a JAX array: the same functions serve both
Tree = Any  # a pytree of arrays


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says what to do."""


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


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: what was probably meant, or all there is."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f": did you mean '{close[0]}'?"
    if len(known) <= 12:
        return f": choose one of {', '.join(known)}"
    return ""


def refuse_outside(config: object, low: float, high: float | None, *names: str) -> None:
    """Check that settings lie in [low, high], NaN never does; lists are checked item by item."""
    for name in names:
        value = getattr(config, name)
        for item in value if isinstance(value, tuple) else (value,):
            if not (item >= low and (high is None or item <= high)):
                bound = f"at least {low}" if high is None else f"from {low} to {high}"
                raise InputError(f"{name} is {value}: it must be {bound}")


def refuse_huber(huber: float | None) -> None:
    if huber is not None and not huber > 0:
        raise InputError(f"huber is {huber}: give a size of errors above 0, or leave it out")
