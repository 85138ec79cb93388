"""A rate limiter: a step moves each number by no more than a share of its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policy_inertia.policies.action_filters.rule import Values, refuse_outside


@dataclass(frozen=True)
class RateLimit:
    """y_t = y_{t-1} + clip(x_t - y_{t-1}, -rate, rate).

    Attributes:
        rate: A share of the range per step; 1 is no limit.
    """

    rate: float

    name: ClassVar[str] = "rate_limit"
    adjustable: ClassVar[str] = "rate"
    lower_is_smoother: ClassVar[bool] = True
    forgets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        refuse_outside("rate", self.rate, 0, 1, "a share of the range per step")

    def start(self, x: np.ndarray) -> Values:
        return {"output": x}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        y = memory["output"]
        y = y + np.clip(x - y, -2 * self.rate, 2 * self.rate)
        return y, {"output": y}

    def settings(self) -> list[float]:
        return np.geomspace(1, 0.002, 25).tolist()
