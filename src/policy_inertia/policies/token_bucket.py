"""A limit on switching as a filter: without a token, the last action is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.space import ActionSpace, select
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, State
from policy_inertia.types import Array

TOKENS = "tokens"


@dataclass(frozen=True)
class TokenBucket:
    """A bucket of tokens between a policy and its env; see `actions/bucket.py`."""

    limit: Limit
    actions: ActionSpace

    @property
    def fields(self) -> tuple[Field, ...]:
        full = self.limit.burst_units
        return (
            Field(
                TOKENS,
                lambda n: np.full(n, full),
                lambda rng, n: rng.integers(0, full + 1, n),
                carried=self.limit.carry_over,
                optional=True,
            ),
        )

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        rate, full = self.limit.rate_units, self.limit.burst_units
        previous = state[PREVIOUS_ACTION]
        if choice.shape == (1,):  # numbers instead of arrays: saves microseconds
            held = min(int(state[TOKENS][0]), full)
            price: Any = self.actions.cost(previous.item(), choice.item())
            action, price = (choice, price) if held >= price else (previous, 0)
            return action, {TOKENS: np.array([bucket.after(held, price, rate, full, min)])}
        # there may be too many if the limit was changed
        tokens = np.minimum(state[TOKENS], full)
        cost = self.actions.cost(previous, choice)
        stuck = np.asarray(tokens < cost)
        left = bucket.after(tokens, np.where(stuck, 0, cost), rate, full, np.minimum)
        return select(stuck, previous, choice), {TOKENS: left}
