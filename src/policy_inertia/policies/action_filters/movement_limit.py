"""A hard limit on movement: a bucket of tokens that is spent by |a_t - a_{t-1}|."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.policies.action_filters.rule import Values, refuse_outside


@dataclass(frozen=True)
class MovementLimit:
    """At most `burst + rate * n` of movement in every stretch of n steps, whatever the policy does.

    Movement is |a_t - a_{t-1}| as a share of the range; together, the mean over the numbers of the
    action that are limited. So `rate` bounds the action fluctuation in the long run. Where there
    are too few tokens for the whole way, the action goes as far as they reach, in a straight line.

    Tokens are whole millionths (see `actions/bucket.py`), and moves are rounded up, so no rounding
    error adds up.

    Attributes:
        rate: Ranges per step, from 0 (a burst in each episode, no more) to 1 (no limit).
        burst: What the bucket holds, in ranges: the largest movement of one step. An episode starts
            with a full bucket.
        per_dimension: Whether each number has a bucket of its own.
    """

    rate: float
    burst: float = 1.0
    per_dimension: bool = False

    name: ClassVar[str] = "movement_limit"
    adjustable: ClassVar[str] = "rate"
    lower_is_smoother: ClassVar[bool] = True
    forgets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        bucket.refuse_no_number("rate", self.rate, "ranges per step, from 0 to 1")
        bucket.refuse_no_number("burst", self.burst, "ranges, above 0")
        refuse_outside("the rate of a limit", self.rate, -1 / TOKEN, 1, "ranges per step")
        refuse_outside(
            "the burst of a limit", self.burst, 1 / TOKEN, bucket.LARGEST_BURST, "ranges"
        )

    @cached_property
    def _units(self) -> tuple[int, int]:
        return bucket.units(self.rate), bucket.units(self.burst)

    def start(self, x: np.ndarray) -> Values:
        columns = x.shape[1] if self.per_dimension else 1
        return {"output": x, "tokens": np.full((len(x), columns), float(self._units[1]))}

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        rate, burst = self._units
        y, tokens = memory["output"], np.minimum(memory["tokens"], burst)
        cost = self._cost(x - y)
        # one millionth less than there is: the cost of the shorter way is rounded up again
        share = np.where(cost <= tokens, 1, np.maximum(tokens - 1, 0) / np.maximum(cost, 1))
        z = np.where(share == 1, x, y + share * (x - y))
        left = bucket.after(tokens, self._cost(z - y), rate, burst, np.minimum)
        return z, {"output": z, "tokens": left}

    def _cost(self, move: np.ndarray) -> np.ndarray:
        """What a move takes, in millionths: `(n, d)` or `(n, 1)`."""
        shares = np.abs(move) / 2
        if not self.per_dimension:
            shares = shares.mean(1, keepdims=True)
        return np.ceil(shares * TOKEN)

    def settings(self) -> list[float]:
        return np.geomspace(1, 0.001, 25).tolist()
