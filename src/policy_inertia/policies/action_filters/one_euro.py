"""The one-euro filter: strong smoothing of slow movement, little lag in fast movement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.rule import Values, refuse_outside


@dataclass(frozen=True)
class OneEuro:
    """The filter of Casiez, Roussel and Vogel (2012), per step instead of per second.

    Attributes:
        min_cutoff: The cutoff frequency of slow movement, in cycles per step: hertz times the
            seconds of a step.
        beta: How much the cutoff rises with the speed, in cycles per range moved.
        speed_cutoff: The cutoff frequency for the speed, in cycles per step.
    """

    min_cutoff: float
    beta: float = 0.1
    speed_cutoff: float = 0.1

    name: ClassVar[str] = "one_euro"
    adjustable: ClassVar[str] = "min_cutoff"
    lower_is_smoother: ClassVar[bool] = True
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("min_cutoff", "speed_cutoff"):
            refuse_outside(name, getattr(self, name), 0, 1_000, "cycles per step")
        if not 0 <= self.beta < float("inf"):
            raise InputError(f"beta is {self.beta}: give 0 (a fixed cutoff) or more")

    def start(self, x: np.ndarray) -> Values:
        return {"input": x, "speed": np.zeros_like(x), "output": x}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        speed, y = memory["speed"], memory["output"]
        speed = speed + _share(self.speed_cutoff) * ((x - memory["input"]) / 2 - speed)
        y = y + _share(self.min_cutoff + self.beta * np.abs(speed)) * (x - y)
        return y, {"input": x, "speed": speed, "output": y}

    def settings(self) -> list[float]:
        return np.geomspace(10, 0.001, 25).tolist()


def _share(cutoff: Any) -> Any:
    """The share of the way that exponential smoothing with this cutoff goes in a step."""
    return 1 / (1 + 1 / (2 * math.pi * cutoff))
