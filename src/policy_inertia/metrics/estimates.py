"""The project's estimator of a mean: Student's interval, two-sided, and one-sided for budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95
"""Confidence of every interval and bound."""

Rule = Literal["upper bound", "mean"]
"""What must be within a budget: the one-sided upper 95% bound of the oscillation, or its mean."""

Interval = tuple[float, float]
Sample = Sequence[float] | np.ndarray


def t_interval(values: Sample, level: float = LEVEL) -> Interval | None:
    """Return Student's two-sided interval of a mean; None for a single value, which has no spread.

    For the difference of two policies on the same episodes, give the differences: they are paired.
    """
    half = _half_width(values, (1 + level) / 2)
    mean = float(np.mean(values))
    return None if half is None else (mean - half, mean + half)


def upper_bound(values: Sample, level: float = LEVEL) -> float:
    """Return Student's one-sided upper bound of a mean; for a single value, that value."""
    return float(np.mean(values)) + (_half_width(values, level) or 0.0)


def _half_width(values: Sample, quantile: float) -> float | None:
    n = len(values)
    if n < 2:
        return None
    return float(stdtrit(n - 1, quantile) * np.std(values, ddof=1) / np.sqrt(n))
