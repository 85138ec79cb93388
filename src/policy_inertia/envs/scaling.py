"""A fixed scale of observations: every number is centred and divided by its typical deviation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Scaling:
    """(x - center) / deviation, for each number of an observation."""

    center: tuple[float, ...]
    deviation: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = np.array([*self.center, *self.deviation])
        if not np.isfinite(numbers).all() or not all(d > 0 for d in self.deviation):
            raise InputError(
                "the scale of the observations has a deviation of 0 or less, or a number that is "
                "not finite: save the policy again"
            )
        if len(self.center) != len(self.deviation):
            raise InputError(
                f"the scale of the observations has {len(self.center)} centres and "
                f"{len(self.deviation)} deviations: save the policy again"
            )

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Center and deviation as float32."""
        return np.array(self.center, np.float32), np.array(self.deviation, np.float32)

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """Scale observations (B, obs_dim) in place, and return them."""
        center, deviation = self.arrays
        vectors -= center
        vectors /= deviation
        return vectors

    def undo(self, vectors: np.ndarray) -> np.ndarray:
        """The inverse of `apply`, up to rounding, as a new array."""
        center, deviation = self.arrays
        return vectors * deviation + center
