"""The action masks of envs that run side by side."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.masks import read_masks
from policy_inertia.errors import InputError

ACTION_MASKS = "action_masks"
"""The method of an env that says which actions may be taken now, as sb3-contrib names it."""


def has_masks(vector: Any) -> bool:
    """Whether the envs of a vector env say which actions may be taken."""
    envs = getattr(vector, "envs", None)
    return hasattr(vector, ACTION_MASKS) if not envs else env_has_masks(envs[0])


def masks_of(
    vector: Any, n: int, n_actions: int, name: str, over: np.ndarray | None = None
) -> np.ndarray:
    """Which actions may be taken now: `(n, n_actions)` booleans.

    Args:
        vector: A vector env.
        n: Number of its envs.
        n_actions: Number of actions.
        name: The env's name in messages.
        over: Envs whose episode is over: they are not asked, and all is allowed.

    Raises:
        InputError: The env has no method `action_masks`, or it returns something else.
    """
    if not has_masks(vector):
        raise InputError(
            f"the policy chooses among the actions that are allowed, and {name} does not say which "
            "are: give it a method action_masks(), or wrap it in sb3_contrib's ActionMasker"
        )
    envs = getattr(vector, "envs", None)
    if not envs:
        return read_masks(vector.action_masks(), n, n_actions, name)
    asked = np.ones(n, bool) if over is None else ~over
    rows = np.ones((n, n_actions), bool)
    for i in np.flatnonzero(asked).tolist():
        mask = envs[i].get_wrapper_attr(ACTION_MASKS)()
        rows[i] = read_masks(mask, 1, n_actions, name)[0]
    return rows


def env_has_masks(env: gym.Env) -> bool:
    """Whether an env, or what it wraps, says which actions may be taken."""
    try:
        return callable(env.get_wrapper_attr(ACTION_MASKS))
    except AttributeError:
        return False
