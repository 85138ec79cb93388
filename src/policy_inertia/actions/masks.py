"""Action masks: which actions of a finite list may be taken at a step.

An env says it with `action_masks()`, as sb3-contrib has it. Inside the library a mask travels in
the log-probabilities and scores of a policy: those of a forbidden action are `FORBIDDEN`. So
filters and controllers see it without a further argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array

FORBIDDEN = np.float32(-1e30)
"""The log-probability and the score of a forbidden action: below every other, and finite."""
_CUT = np.float32(-1e29)


def forbid(scores: Array, masks: Array, xp: Any = np) -> Array:
    """The scores `(B, A)`, with `FORBIDDEN` where the mask is false."""
    return xp.where(masks, scores, FORBIDDEN)


def is_forbidden(scores: Array) -> Array:
    """Which actions are forbidden, by the scores or log-probabilities that `forbid` returned."""
    return scores <= _CUT


def forbids(scores: Array, actions: np.ndarray) -> np.ndarray:
    """Which rows forbid their action: `(B,)` booleans; the null action is never forbidden."""
    chosen = np.asarray(scores)[np.arange(len(actions)), actions]
    return np.asarray((actions >= 0) & is_forbidden(chosen))


def read_masks(masks: Any, n: int, n_actions: int, name: str) -> np.ndarray:
    """Return masks as booleans `(n, n_actions)`; where a row allows nothing, all is allowed.

    Args:
        masks: One row for each observation; a single row for a single observation.
        n: Number of observations.
        n_actions: Number of actions.
        name: What messages call the policy.

    Raises:
        InputError: They have another shape, or are no truth values.
    """
    rows = np.asarray(masks)
    if rows.dtype.kind not in "biu" or rows.size != n * n_actions or rows.ndim > 2:
        raise InputError(
            f"the action masks have shape {rows.shape} and type {rows.dtype}: {name} expects "
            f"truth values of shape ({n}, {n_actions}), one for each action"
        )
    allowed = rows.reshape(n, n_actions).astype(bool)
    return np.asarray(allowed | ~allowed.any(1, keepdims=True))


def sample_allowed(rng: np.random.Generator, masks: np.ndarray, actions: Any) -> np.ndarray:
    """One uniformly random action among the allowed ones of each row, in every head."""
    draws = np.where(masks, rng.random(masks.shape), -1.0)
    each = [draws[:, part].argmax(1) for part in actions.parts]
    return np.stack(each, 1) if actions.shape else each[0]
