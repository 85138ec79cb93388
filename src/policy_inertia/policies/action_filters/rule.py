"""The interface of a rule that smooths continuous actions, and the checks of its settings."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from policy_inertia.errors import InputError

Values = dict[str, np.ndarray]
"""What a rule remembers: arrays with one row for each env."""


class Rule(Protocol):
    """From the positions that a policy wants to the positions to take, `(n, d)`.

    Positions are scaled: 2 is the whole range of a number. A rule must not depend on where 0 is:
    if every input is higher by some amount, so is every output.
    """

    name: ClassVar[str]
    """What files and messages call the rule."""
    adjustable: ClassVar[str]
    """The setting that makes it smoother or looser; calibration sweeps it."""
    lower_is_smoother: ClassVar[bool]
    forgets: ClassVar[bool]
    """Whether a movement that the rule held back is lost, where actions are deltas. A policy that
    sees that it did not get there asks again, so a rule that holds back much must forget."""

    def start(self, x: np.ndarray) -> Values:
        """What to remember if the input has been `x` for ever."""

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        """The output for the input `x`, and the new memory."""

    def settings(self) -> list[float]:
        """Values of the adjustable setting from loose to smooth, for a whole curve."""


def refuse_outside(name: str, value: float, low: float, high: float, means: str) -> None:
    """Check a setting: above `low`, and at most `high`.

    Raises:
        InputError: It is not; `means` says what the setting is.
    """
    if not low < value <= high:
        raise InputError(f"{name} is {value}: give {means}, above {low:g} and at most {high:g}")
