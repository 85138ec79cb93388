"""A limit on switching: a bucket of tokens.

A switch takes a token and is impossible without one. Tokens come at a fixed rate per step and the
bucket holds at most `burst` of them. So in every stretch of n steps there are at most
burst + rate * n switches, whatever the policy does.

Tokens are counted in whole numbers, millionths of a token, so no rounding error can grant a switch.
`after` serves Python, NumPy and JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

from policy_inertia.errors import InputError, shown

TOKEN = 1_000_000
"""One token in the unit in which tokens are counted."""
LARGEST_BURST = 1_000_000
"""The largest bucket, in tokens: 64 bits hold its contents."""


@dataclass(frozen=True)
class Limit:
    """At most `burst + rate * n` switches in every stretch of n steps.

    Attributes:
        rate: Tokens per step, from 0 (`burst` switches in each episode, no more) to 1 (no limit).
            It is rounded down to whole millionths.
        burst: How many tokens the bucket holds, at least 1. An episode starts with a full bucket.
        carry_over: Keep the tokens from one episode to the next instead.
        per_head: Each head of MultiDiscrete or MultiBinary actions has a bucket of its own. Without
            it, a step in which heads switch takes one token, however many they are.
    """

    rate: float
    burst: float = 1.0
    carry_over: bool = False
    per_head: bool = False

    def __post_init__(self) -> None:
        refuse_no_number("rate", self.rate, "switches per step, from 0 to 1")
        refuse_no_number("burst", self.burst, "tokens, at least 1")
        if not 0 <= self.rate <= 1:
            raise InputError(
                f"the rate of a limit is {self.rate}: give switches per step, from 0 to 1"
            )
        if not 1 <= self.burst <= LARGEST_BURST:
            raise InputError(
                f"the burst of a limit is {self.burst}: give at least 1 token, or no switch would "
                f"ever be possible, and at most {LARGEST_BURST:,}"
            )

    @cached_property
    def rate_units(self) -> int:
        """The rate in millionths of a token."""
        return units(self.rate)

    @cached_property
    def burst_units(self) -> int:
        """The burst in millionths of a token."""
        return units(self.burst)

    def to_dict(self) -> dict[str, Any]:
        """The limit as JSON."""
        return asdict(self)

    def __str__(self) -> str:
        carried = ", carried over" if self.carry_over else ""
        heads = " for each head" if self.per_head else ""
        return f"{self.rate:g} per step, burst {self.burst:g}{carried}{heads}"


def refuse_no_number(name: str, value: object, means: str) -> None:
    """Check that the rate or the burst of a limit is a number.

    Raises:
        InputError: It is not; `means` says what the number is.
    """
    if not isinstance(value, Real):
        raise InputError(
            f"the {name} of a limit is {shown(value)}: give a number, {means}; without a limit, "
            "leave the limit out"
        )


def units(tokens: float) -> int:
    """Tokens in millionths, rounded down; 0.3 is read as three tenths, not as its binary value."""
    return math.floor(Decimal(repr(float(tokens))) * TOKEN)


def after(tokens: Any, cost: Any, rate: Any, burst: Any, smaller: Callable[..., Any]) -> Any:
    """The tokens after a step: what the move cost is taken, then the rate is added.

    All numbers are in millionths of a token. A move is possible only if `tokens >= cost`.

    Args:
        tokens: What the bucket holds; whole numbers, or arrays of them.
        cost: What the move costs.
        rate: What is added.
        burst: What the bucket holds at most.
        smaller: `min`, `numpy.minimum` or `jax.numpy.minimum`.
    """
    return smaller(tokens - cost + rate, burst)
