"""Compare curves of return against oscillation at the same oscillation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from policy_inertia.metrics.calibration_table import Row
from policy_inertia.metrics.measures import RETURN

LEVELS = 21  # oscillation ratios at which whole curves are compared
APART = 0.5  # as a share of the level: rows around it that differ by less are close enough

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


def rows_beside(curve: Curve, measure: Callable[[Row], Row], start: int, level: float) -> list[Row]:
    """Measure a known curve on other episodes, only around an oscillation ratio.

    From the row at `start` it goes to where the curve crosses the level, and on in strides that
    double until the new episodes cross it too. Then it halves the stretch between the two rows
    around the level while they differ by more than `APART`.

    Args:
        curve: What is known of the curve.
        measure: From a row of it to the row of the other episodes.
        start: The place of the row to measure first.
        level: The ratio.

    Returns:
        What was measured, from the loosest to the smoothest. The last row is above the level only
        if the curve does not come down to it.
    """
    rows: dict[int, Row] = {}

    def is_above(place: int) -> bool:
        rows[place] = measure(curve[place])
        return rows[place].oscillation_ratio > level

    above, place, stride = is_above(start), start, 1
    places = range(start + 1, len(curve)) if above else range(start - 1, -1, -1)
    crossing = (p for p in places if (curve[p].oscillation_ratio > level) != above)
    further = next(crossing, places[-1] if places else start)
    while further != place:
        last, place = place, further
        if is_above(place) != above:
            _narrow(min(last, place), max(last, place), rows, is_above, level)
            break
        end = places[-1]
        further = min(place + stride, end) if above else max(place - stride, end)
        stride *= 2
    return [rows[place] for place in sorted(rows)]


def _narrow(
    loose: int, smooth: int, rows: Mapping[int, Row], is_above: Callable[[int], bool], level: float
) -> None:
    """Measure between two places, one above the level and one below, until they are close."""

    def apart() -> float:
        return rows[loose].oscillation_ratio - rows[smooth].oscillation_ratio

    while smooth - loose > 1 and apart() > APART * level:
        middle = (loose + smooth) // 2
        if is_above(middle):
            loose = middle
        else:
            smooth = middle


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
