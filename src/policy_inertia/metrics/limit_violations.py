"""Counts violations of a limit on switching in sequences of actions, without any bucket of tokens.

It shares no code with the bucket that keeps the limit, so it finds an error there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from policy_inertia.metrics.episodes import Episode, holds


def count_violations(episodes: Iterable[Episode], rate: float, burst: float) -> int:
    """Return how many switches of all episodes end a stretch with more than are allowed.

    A stretch of n steps of an episode may hold burst + rate * n switches. A switch that an action
    mask forced counts as every other.

    Args:
        episodes: Finished episodes.
        rate: Switches per step, read as a decimal.
        burst: Switches at once, read as a decimal.
    """
    return sum(_violations(episode, rate, burst) for episode in episodes)


def _violations(episode: Episode, rate: float, burst: float) -> int:
    """Count in one episode.

    With switches at the steps t_0 < t_1 < ..., the stretch from t_i to t_j has j - i + 1 of them in
    t_j - t_i + 1 steps. With f_i = i - rate * t_i it has too many if
    f_j - f_i > burst + rate - 1, so the lowest f before each switch decides. All numbers are whole
    multiples of 1 / unit, so there is no rounding.
    """
    times = np.cumsum(holds(episode.actions, episode.space))[:-1].tolist()
    exact_rate, exact_burst = Fraction(str(rate)), Fraction(str(burst))
    unit = math.lcm(exact_rate.denominator, exact_burst.denominator)
    step = int(exact_rate * unit)
    excess = np.array([i * unit - step * t for i, t in enumerate(times)], object)
    if not len(excess):
        return 0
    allowed = int((exact_burst + exact_rate - 1) * unit)
    return int(np.count_nonzero(excess - np.minimum.accumulate(excess) > allowed))
