"""The errors that users see, and how values and names are shown to them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LONGEST = 1_000
"""Characters of a message; what a file holds may be in it."""


class InputError(ValueError):
    """An input that cannot be used.

    The message is one sentence: what was given, what is expected and what to do. It is one line,
    and cut if it is longer than `LONGEST`.
    """

    def __init__(self, message: object) -> None:
        text = " ".join(line.strip() for line in str(message).splitlines())
        super().__init__(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")


class TrustError(InputError):
    """A file that the user has not declared trusted asks for what could run code.

    Attributes:
        refusal: What the file asks for, without what to do about it.
    """

    def __init__(self, refusal: str, remedy: str = "") -> None:
        super().__init__(f"{refusal}: {remedy}" if remedy else refusal)
        self.refusal = refusal


class DivergenceError(InputError):
    """Training has ended in NaN: the settings do not suit the task."""


class Stopped(KeyboardInterrupt):
    """A signal has stopped the work.

    Attributes:
        signal: The signal's number.
    """

    def __init__(self, signal: int, message: str = "stopped") -> None:
        super().__init__(message)
        self.signal = signal


# Control characters would steer a terminal, marks of direction would reorder a line, and lone
# surrogates (bytes of a path that are no UTF-8) cannot be printed or drawn at all.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return a text with what cannot be seen or printed as escape codes, such as \\x1b."""
    return INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shown(value: object) -> str:
    """Return a value for an error message: its text, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no whole numbers of more than 4300 digits
        return f"a very large {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the most similar name, or all names.

    Args:
        name: The unknown name; it may be anything that a file or a user gave.
        known: All names that exist.

    Returns:
        A text such as ": did you mean 'dqn'?" or ": choose one of dqn, sac". It is empty if no name
        is similar and there are more than twelve.
    """
    known = sorted(known)
    text = name if isinstance(name, str) else shown(name)
    close = difflib.get_close_matches(text[:100], known, n=1)
    if close:
        return f": did you mean '{close[0]}'?"
    if len(known) <= 12:
        return f": choose one of {', '.join(known)}"
    return ""


def refuse_outside(config: object, low: float, high: float | None, *names: str) -> None:
    """Check that settings lie in [low, high].

    Args:
        config: Object whose attributes are checked. Of a tuple, every item is checked.
        low: Smallest allowed value.
        high: Largest allowed value; None for no limit.
        names: Names of the attributes.

    Raises:
        InputError: A value is outside, or is NaN.
    """
    for name in names:
        value = getattr(config, name)
        for item in value if isinstance(value, tuple) else (value,):
            if not (item >= low and (high is None or item <= high)):
                bound = f"at least {low}" if high is None else f"from {low} to {high}"
                raise InputError(f"{name} is {shown(value)}: it must be {bound}")


def refuse_huber(huber: float | None) -> None:
    """Check the threshold of a Huber loss; None stands for the squared loss."""
    if huber is not None and not huber > 0:
        raise InputError(f"huber is {huber}: give a threshold above 0, or leave it out")
