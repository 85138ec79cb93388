"""Compare curves of return against oscillation at the same oscillation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from policy_inertia.metrics.calibration_table import Row
from policy_inertia.metrics.measures import RETURN

LEVELS = 21  # oscillation ratios at which whole curves are compared

Curve = Sequence[Row]
"""Rows from the loosest setting to the smoothest."""


def return_at(curve: Curve, level: float) -> float:
    """Return a curve's return at an oscillation ratio, on the line between the rows around it.

    The row below is the loosest from which on the ratio stays below the level, as for a budget.

    Returns:
        The return; minus infinity if the curve does not come down to the level.
    """
    below = above = None
    for row in reversed(curve):
        if row.oscillation_ratio > level:
            above = row
            break
        below = row
    if below is None:
        return -math.inf
    if above is None:
        return _return(below)
    share = (level - below.oscillation_ratio) / (above.oscillation_ratio - below.oscillation_ratio)
    return (1 - share) * _return(below) + share * _return(above)


def rows_around(
    settings: Sequence[float], measure: Callable[[float], Row], level: float
) -> list[Row]:
    """Measure a curve only where it comes down to an oscillation ratio, by bisection.

    That is four measurements for ten settings. It takes for granted that a smoother setting does
    not switch more often.

    Args:
        settings: From the loosest to the smoothest.
        measure: From a setting to its row.
        level: The ratio.

    Returns:
        What was measured, from the loosest to the smoothest.
    """
    rows: dict[int, Row] = {}
    above, below = -1, len(settings)
    while below - above > 1:
        middle = (above + below) // 2
        rows[middle] = measure(settings[middle])
        if rows[middle].oscillation_ratio > level:
            above = middle
        else:
            below = middle
    return [rows[place] for place in sorted(rows)]


def best_at(curves: Sequence[Curve], level: float) -> int:
    """The curve with the highest return at an oscillation ratio; of equal ones, the first.

    Where no curve comes down to the level, the one that comes closest.
    """
    returns = [return_at(curve, level) for curve in curves]
    if max(returns) == -math.inf:
        return int(np.argmin([curve[-1].oscillation_ratio for curve in curves]))
    return int(np.argmax(returns))


def best_overall(curves: Sequence[Curve]) -> int:
    """The curve with the highest mean return over the oscillation ratios that all curves have."""
    at = levels(curves)
    return int(np.argmax([np.mean([return_at(curve, x) for x in at]) for curve in curves]))


def levels(curves: Sequence[Curve]) -> list[float]:
    """Evenly spread oscillation ratios, down to the lowest to which all curves come."""
    low = max(curve[-1].oscillation_ratio for curve in curves)
    high = max(row.oscillation_ratio for curve in curves for row in curve)
    return np.linspace(low, max(low, high), LEVELS).tolist()


def _return(row: Row) -> float:
    value = row.figures[RETURN.name]
    assert value is not None, "every evaluation has a return"
    return value
