"""A hard limit on switching: a token bucket, counted in whole units.

A switch takes one token and is impossible below one. After every step the bucket gets `rate`
tokens, and it holds at most `burst`. It is full when an episode starts. The first action is free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from policy_inertia.errors import InputError

MOST_LEVELS = 10_000


@dataclass(frozen=True)
class TokenBucket:
    """A limit on switching: at most `burst + rate * (n - 1)` switches in any n steps, always.

    Rate and burst are fractions, so the bucket has finitely many levels. They are whole numbers of
    units: with a rate of 1/10, a token is ten units.
    """

    rate: Fraction
    """Tokens that each step adds."""
    burst: Fraction
    """Largest number of tokens in the bucket."""

    def __init__(self, rate: Fraction | float | str, burst: Fraction | float | str) -> None:
        """Check the limit.

        Args:
            rate: Tokens that each step adds, from 0 to 1. A float is read as it is printed, so 0.1
                is 1/10; give one third as `Fraction(1, 3)` or "1/3".
            burst: Largest number of tokens, at least 1.

        Raises:
            InputError: A number is out of range, or the bucket would have too many levels.
        """
        object.__setattr__(self, "rate", _fraction("rate", rate))
        object.__setattr__(self, "burst", _fraction("burst", burst))
        if not 0 <= self.rate <= 1:
            raise InputError(f"rate is {rate}: it must lie in [0, 1]")
        if self.burst < 1:
            raise InputError(f"burst is {burst}: it must be at least 1, the cost of a switch")
        if self.rate < 1 and self.burst * self.cost > MOST_LEVELS:
            raise InputError(
                f"a rate of {rate} and a burst of {burst} need more than {MOST_LEVELS} levels of "
                "tokens: give fractions with a smaller denominator, such as '1/3'"
            )

    @property
    def cost(self) -> int:
        """Units that a switch takes: units of one token."""
        return math.lcm(self.rate.denominator, self.burst.denominator)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """All levels that can occur, in units and in increasing order; the last one is full."""
        full = int(self.burst * self.cost)
        reached, waiting = {full}, [full]
        while waiting:
            level = waiting.pop()
            after = [self._refill(level)]
            if level >= self.cost:
                after.append(self._refill(level - self.cost))
            waiting += set(after) - reached
            reached.update(after)
        return tuple(sorted(reached))

    @cached_property
    def can_switch(self) -> np.ndarray:
        """Whether each level has a token, (K,)."""
        return np.array(self.levels) >= self.cost

    @cached_property
    def after_repeat(self) -> np.ndarray:
        """Index of the level after a repeated action, for each level, (K,)."""
        return self._indices([self._refill(level) for level in self.levels])

    @cached_property
    def after_switch(self) -> np.ndarray:
        """Index of the level after a switch, (K,); it means nothing where there is no token."""
        return self._indices([self._refill(max(level - self.cost, 0)) for level in self.levels])

    def most_switches(self, steps: int) -> int:
        """The largest number of switches in any `steps` consecutive steps."""
        return min(steps, math.floor(self.burst + self.rate * (steps - 1))) if steps > 0 else 0

    def _refill(self, level: int) -> int:
        return min(int(self.burst * self.cost), level + int(self.rate * self.cost))

    def _indices(self, levels: list[int]) -> np.ndarray:
        return np.searchsorted(self.levels, levels)


def _fraction(name: str, number: Fraction | float | str) -> Fraction:
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"{name} is {number}: give a number or a fraction, such as 0.1 or '1/10'"
        ) from None


NO_LIMIT = TokenBucket(1, 1)
"""A bucket that is always full: one level, and every switch is possible."""
