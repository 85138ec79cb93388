"""A dead band: small moves are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.rule import Values


@dataclass(frozen=True)
class DeadBand:
    """y_t = x_t where |x_t - y_{t-1}| is more than the width, else y_{t-1}.

    Attributes:
        width: A share of the range, from 0 (no filter) to below 1.
    """

    width: float

    name: ClassVar[str] = "dead_band"
    adjustable: ClassVar[str] = "width"
    lower_is_smoother: ClassVar[bool] = False
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.width < 1:
            raise InputError(
                f"width is {self.width}: give a share of the range, from 0 and below 1"
            )

    def start(self, x: np.ndarray) -> Values:
        return {"output": x}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        y = memory["output"]
        y = np.where(np.abs(x - y) > 2 * self.width, x, y)
        return y, {"output": y}

    def settings(self) -> list[float]:
        return [0.0, *np.geomspace(0.002, 0.5, 24).tolist()]
