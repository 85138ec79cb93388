"""The error that users see, and the checks that raise it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says what to do."""


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
