"""Functions of a list of scores, for actions with one list (Discrete) or several (heads)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from policy_inertia.actions.masks import forbids, is_forbidden
from policy_inertia.types import Array


def per_head(function: Callable[[Any], Any], values: Array, actions: Any) -> np.ndarray:
    """Apply a function of `(B, A)` to the scores of each head, and join the results."""
    parts = actions.parts
    if len(parts) == 1:
        return np.asarray(function(values))
    return np.concatenate([function(values[..., part]) for part in parts], axis=-1)


def forbidden_choices(scores: Array, choice: np.ndarray, actions: Any) -> np.ndarray:
    """Which choices are forbidden, in the shape of `choice`; the null action never is."""
    if not actions.shape:
        return forbids(scores, choice)
    return np.asarray(is_forbidden(chosen_scores(scores, choice, actions)) & (choice >= 0))


def forbids_some(scores: Array, previous: np.ndarray, actions: Any) -> np.ndarray:
    """Which rows forbid the last action of some head: `(B,)` booleans."""
    forbidden = forbidden_choices(scores, previous, actions)
    return np.asarray(forbidden.any(1)) if actions.shape else forbidden


def chosen_scores(scores: Array, choice: np.ndarray, actions: Any) -> np.ndarray:
    """The scores of the heads' actions: `(B, H)`; those of the null action are any numbers."""
    rows = np.arange(len(choice))[:, None]
    return np.asarray(scores)[rows, np.maximum(choice, 0) + actions.offsets]
