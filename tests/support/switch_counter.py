"""Counts switches in every stretch of steps, without any code of the library.

Rates and bursts are read as decimals and added as exact fractions.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction

LimitOfStep = tuple[float, float]
"""The rate and the burst that hold at one step."""


def violations(
    actions: Sequence[int], limits: Sequence[LimitOfStep], starts: Collection[int] = (0,)
) -> list[tuple[int, int, int]]:
    """The stretches with more switches than allowed, as (first step, last step, switches).

    A stretch of n steps may hold as many switches as the largest burst of its steps plus the sum of
    their rates. Only stretches that begin and end with a switch are looked at: any other stretch
    holds one of them with as many switches.

    Args:
        actions: The actions of one env, one after the other.
        limits: The limit at each step.
        starts: The steps at which an episode starts: the first action of an episode is no switch.
    """
    rates = [Fraction(str(rate)) for rate, _ in limits]
    bursts = [Fraction(str(burst)) for _, burst in limits]
    times = [t for t in range(len(actions)) if t not in starts and actions[t] != actions[t - 1]]
    too_many = []
    for i, first in enumerate(times):
        for j in range(i, len(times)):
            last, switches = times[j], j - i + 1
            allowed = max(bursts[first : last + 1]) + sum(rates[first : last + 1])
            if switches > allowed:
                too_many.append((first, last, switches))
    return too_many


def violations_of_episodes(
    episodes: Sequence[Sequence[int]], rate: float, burst: float
) -> list[tuple[int, int, int]]:
    """The violations of a limit that holds in each of the episodes."""
    return [v for e in episodes for v in violations(e, [(rate, burst)] * len(e))]
