"""Hysteresis and limits for actions with several heads, each head for itself.

`hysteresis_of` and `bucket_of` give the filters of any action space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN, Limit
from policy_inertia.actions.masks import is_forbidden
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.actions.per_head import chosen_scores
from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, Filter, State
from policy_inertia.policies.token_bucket import FORCED, FORCED_FIELD, TOKENS, TokenBucket
from policy_inertia.types import Array

Threshold = float | tuple[float, ...]
"""How much better a new action must be; several numbers are one for each head."""


def hysteresis_of(threshold: Threshold, actions: ActionSpace) -> Filter:
    """The hysteresis filter of an action space.

    Raises:
        InputError: A threshold is below 0, or there is another number of them than of heads.
    """
    if isinstance(actions, MultiDiscrete):
        return HeadHysteresis(threshold, actions)
    if isinstance(threshold, tuple):
        raise InputError(
            f"hysteresis is {threshold}: several thresholds are for actions with several heads, so "
            "give one number"
        )
    return Hysteresis(threshold)


def bucket_of(limit: Limit, actions: ActionSpace, masked: bool) -> Filter:
    """The bucket of a limit on switching, or of one for each head.

    Raises:
        InputError: A limit is for each head, and the actions have one only.
    """
    if not limit.per_head:
        return TokenBucket(limit, actions, masked)
    if not isinstance(actions, MultiDiscrete):
        raise InputError(
            f"the limit is {limit}, and the actions are a {actions}: only MultiDiscrete and "
            "MultiBinary actions have heads, so leave per_head out"
        )
    return HeadBuckets(limit, actions, masked)


@dataclass(frozen=True)
class HeadHysteresis:
    """Each head repeats its last action unless its new one is better by the head's threshold."""

    threshold: Threshold
    actions: MultiDiscrete

    def __post_init__(self) -> None:
        heads, given = len(self.actions.sizes), np.atleast_1d(self.threshold)
        if not (given >= 0).all():
            raise InputError(f"hysteresis is {self.threshold}: give thresholds of 0 or more")
        if len(given) not in (1, heads):
            raise InputError(
                f"hysteresis is {self.threshold}: give one threshold, or one for each of the "
                f"{heads} heads"
            )

    @property
    def fields(self) -> tuple[Field, ...]:
        return ()

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        previous = state[PREVIOUS_ACTION]
        last = chosen_scores(scores, previous, self.actions)
        gain = chosen_scores(scores, choice, self.actions) - last
        taken = (previous < 0) | (gain >= np.asarray(self.threshold)) | is_forbidden(last)
        return np.where(taken, choice, previous), {}


@dataclass(frozen=True)
class HeadBuckets:
    """A bucket of tokens for each head: a head without a token repeats its last action."""

    limit: Limit
    actions: MultiDiscrete
    masked: bool = False
    """Whether scores say which actions are forbidden; then forced switches are counted."""

    @property
    def fields(self) -> tuple[Field, ...]:
        full, h = self.limit.burst_units, len(self.actions.sizes)
        tokens = Field(
            TOKENS,
            lambda n: np.full((n, h), full),
            lambda rng, n: rng.integers(0, full + 1, (n, h)),
            carried=self.limit.carry_over,
            optional=True,
        )
        return (tokens, FORCED_FIELD) if self.masked else (tokens,)

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        rate, full = self.limit.rate_units, self.limit.burst_units
        previous = state[PREVIOUS_ACTION]
        tokens = np.minimum(state[TOKENS], full)
        cost: Any = ((choice != previous) & (previous >= 0)) * TOKEN
        stuck, fields = tokens < cost, State()
        if self.masked:  # a mask has the last word; such a switch takes what is left
            forced = stuck & is_forbidden(chosen_scores(scores, previous, self.actions))
            cost, stuck = np.where(forced, tokens, cost), stuck & ~forced
            fields[FORCED] = state[FORCED] + forced.sum(1)
        left = bucket.after(tokens, np.where(stuck, 0, cost), rate, full, np.minimum)
        return np.where(stuck, previous, choice), {TOKENS: left, **fields}
