"""A sequential test of a mean that may stop after any number of values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LARGEST_BET = 0.75
"""The largest share of the capital that one value may cost."""


@dataclass(frozen=True)
class MeanTest:
    """The result of `mean_above_zero`.

    Attributes:
        above: True if the mean is above 0, False if it is below, None if neither was shown.
        n: How many values it took.
    """

    above: bool | None
    n: int


def mean_above_zero(values: Iterable[float], bound: float, error: float) -> MeanTest:
    """Test by betting whether the mean of independent values is above 0 (Waudby-Smith and Ramdas,
    "Estimating means of bounded random variables by betting", 2024).

    A capital of 1 is bet on each value before it is seen, by a share that the earlier values
    suggest. If the mean is 0 or less, the capital does not grow on average, so the probability that
    it ever reaches 1 / error is at most `error` (Ville's inequality), whatever the distribution and
    however often one looks. A second capital is bet on the other side.

    Args:
        values: The values, one at a time; the test stops drawing them when it has decided.
        bound: No value is larger than this, nor smaller than minus this.
        error: The probability of each wrong answer, at most.
    """
    above = below = 1.0
    n, mean, square = 0, 0.0, bound**2 / 4  # as if one value had been seen
    if not bound > 0:
        return MeanTest(None, 0)
    for n, value in enumerate(values, 1):
        largest = LARGEST_BET / bound
        share = min(max(mean / square, -largest), largest)  # the best bet, to the second order
        above *= 1 + max(share, 0.0) * value
        below *= 1 + min(share, 0.0) * value
        if above >= 1 / error or below >= 1 / error:
            return MeanTest(above >= 1 / error, n)
        mean += (value - mean) / (n + 1)
        square += (value**2 - square) / (n + 1)
    return MeanTest(None, n)
