"""What a task's rewards and decisions are worth: the units of prices, learned with the critics.

Every figure is a mean over minibatches of something that few transitions cannot move. So one
extreme reward changes little, and every figure can fall again.
"""

from __future__ import annotations

from typing import NamedTuple

from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.types import Array

RATE = 0.005
"""The share of a minibatch in the mean worth of a decision, which changes while critics learn."""
TAIL = 0.05
"""The share of rewards at either end, or of decisions, that counts as extreme."""


class TaskScale(NamedTuple):
    """The scale of a task, as seen so far."""

    values: Array  # the unit of the critics; see `value_scale`
    decision: Array  # what it is worth to choose between the core's action and the last one
    typical: Array  # the median reward
    high: Array  # the largest |reward| that is not extreme
    updates: Array


def unknown_scale() -> TaskScale:
    """The scale before the first reward."""
    # each is an array of its own: a donated state must not hold one buffer twice
    values, decision, typical, high = (jnp.zeros(()) for _ in range(4))
    return TaskScale(values, decision, typical, high, jnp.uint32(0))


def with_rewards(scale: TaskScale, reward: Array) -> TaskScale:
    """The scale after a minibatch's rewards: means over all minibatches of their quantiles."""
    ordered, last = jnp.sort(reward), len(reward) - 1
    low, typical, high = (ordered[round(q * last)] for q in (TAIL, 0.5, 1 - TAIL))
    high = jnp.maximum(jnp.abs(low), jnp.abs(high))
    updates = scale.updates + 1
    return scale._replace(
        typical=scale.typical + (typical - scale.typical) / updates,
        high=scale.high + (high - scale.high) / updates,
        updates=updates,
    )


def with_decisions(
    scale: TaskScale, u: Array, prev_action: Array, core_action: Array, free: Array
) -> TaskScale:
    """The scale after a minibatch's decisions: the mean of |U(s, core's action) - U(s, a_prev)|.

    Each counts for at most 1 / TAIL times the mean so far. So where less than a share TAIL of the
    decisions is worth much more than the others, those few do not set the scale.

    Args:
        scale: The scale so far.
        u: (B, A) values.
        prev_action: (B,) previous actions.
        core_action: (B,) the core's actions.
        free: (B,) booleans: where switching costs nothing.
    """
    worth = jnp.abs(losses.chosen(u, core_action) - losses.chosen(u, prev_action))
    return with_worth(scale, worth, free & (core_action != prev_action))


def with_worth(scale: TaskScale, worth: Array, decided: Array) -> TaskScale:
    """The scale after decisions that are worth so much; only those count that are `decided`."""
    known = scale.decision > 0
    worth = jnp.minimum(worth, jnp.where(known, scale.decision / TAIL, jnp.inf))
    mean = (worth * decided).sum() / jnp.maximum(decided.sum(), 1)
    rate = jnp.where(known, RATE, 1.0) * decided.any()
    return scale._replace(decision=scale.decision + rate * (mean - scale.decision))
