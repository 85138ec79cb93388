"""Exponential smoothing: go a share of the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policy_inertia.policies.action_filters.rule import Values, refuse_outside


@dataclass(frozen=True)
class Exponential:
    """y_t = y_{t-1} + alpha (x_t - y_{t-1}).

    Attributes:
        alpha: The share of the way that a step goes; 1 is no filter.
    """

    alpha: float

    name: ClassVar[str] = "exponential"
    adjustable: ClassVar[str] = "alpha"
    lower_is_smoother: ClassVar[bool] = True
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        refuse_outside("alpha", self.alpha, 0, 1, "the share of the way that a step goes")

    def start(self, x: np.ndarray) -> Values:
        return {"output": x}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        y = memory["output"]
        y = y + self.alpha * (x - y)
        return y, {"output": y}

    def settings(self) -> list[float]:
        return np.geomspace(1, 0.02, 25).tolist()
