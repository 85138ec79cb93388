"""A second-order Butterworth low-pass filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.rule import Values


@dataclass(frozen=True)
class Butterworth:
    """The filter of `scipy.signal.butter(2, cutoff)`, in transposed direct form II.

    It may overshoot; the action is kept within its bounds.

    Attributes:
        cutoff: The frequency that is halved in power, as a share of the highest one, which is half
            a cycle per step: 2 * hertz * seconds of a step.
    """

    cutoff: float

    name: ClassVar[str] = "butterworth"
    adjustable: ClassVar[str] = "cutoff"
    lower_is_smoother: ClassVar[bool] = True
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.cutoff < 1:
            raise InputError(
                f"cutoff is {self.cutoff}: give a share of half the step rate, above 0 and below 1"
            )

    @cached_property
    def coefficients(self) -> tuple[float, float, float, float]:
        """b0 (b1 is twice as much, b2 the same), a1, a2, and b2 - a2; by the bilinear transform."""
        k = math.tan(math.pi * self.cutoff / 2)
        scale = 1 / (1 + math.sqrt(2) * k + k * k)
        b0, a1 = k * k * scale, 2 * (k * k - 1) * scale
        a2 = (1 - math.sqrt(2) * k + k * k) * scale
        return b0, a1, a2, b0 - a2

    def start(self, x: np.ndarray) -> Values:
        b0, _, _, rest = self.coefficients
        return {"first": (1 - b0) * x, "second": rest * x}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        b0, a1, a2, _ = self.coefficients
        y = b0 * x + memory["first"]
        first = 2 * b0 * x - a1 * y + memory["second"]
        return y, {"first": first, "second": b0 * x - a2 * y}

    def settings(self) -> list[float]:
        return np.geomspace(0.95, 0.01, 25).tolist()
