"""A limit on switching as a filter: without a token, the last action is repeated.

An action mask has the last word: where the last action is forbidden, the switch is made without a
token, takes what is left, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.per_head import forbids_some
from policy_inertia.actions.space import ActionSpace, select
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, State
from policy_inertia.types import Array

TOKENS = "tokens"
FORCED = "forced_switches"
"""Switches of the episode so far that an action mask forced on the limit."""


@dataclass(frozen=True)
class TokenBucket:
    """A bucket of tokens between a policy and its env; see `actions/bucket.py`."""

    limit: Limit
    actions: ActionSpace
    masked: bool = False
    """Whether scores say which actions are forbidden; then forced switches are counted."""

    @property
    def fields(self) -> tuple[Field, ...]:
        full = self.limit.burst_units
        tokens = Field(
            TOKENS,
            lambda n: np.full(n, full),
            lambda rng, n: rng.integers(0, full + 1, n),
            carried=self.limit.carry_over,
            optional=True,
        )
        return (tokens, FORCED_FIELD) if self.masked else (tokens,)

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        rate, full = self.limit.rate_units, self.limit.burst_units
        previous = state[PREVIOUS_ACTION]
        if choice.shape == (1,) and not self.masked:  # numbers, not arrays: saves microseconds
            held = min(int(state[TOKENS][0]), full)
            price: Any = self.actions.cost(previous.item(), choice.item())
            action, price = (choice, price) if held >= price else (previous, 0)
            return action, {TOKENS: np.array([bucket.after(held, price, rate, full, min)])}
        # there may be too many if the limit was changed
        tokens = np.minimum(state[TOKENS], full)
        cost = self.actions.cost(previous, choice)
        stuck = np.asarray(tokens < cost)
        fields: State = {}
        if self.masked:
            forced = stuck & forbids_some(scores, previous, self.actions)
            cost = np.where(forced, tokens, cost)  # what is left
            stuck &= ~forced
            fields[FORCED] = state[FORCED] + forced
        left = bucket.after(tokens, np.where(stuck, 0, cost), rate, full, np.minimum)
        return select(stuck, previous, choice), {TOKENS: left, **fields}


FORCED_FIELD = Field(
    FORCED, lambda n: np.zeros(n, int), lambda rng, n: rng.integers(0, 5, n), optional=True
)
