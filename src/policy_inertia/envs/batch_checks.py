"""Checks of the arguments that our vector envs take."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.errors import InputError


def reset_mask(options: dict[str, Any] | None, n: int) -> np.ndarray:
    """Return which of `n` envs to reset: those in `options["reset_mask"]`, or all."""
    mask = (options or {}).get("reset_mask")
    mask = np.ones(n, bool) if mask is None else np.asarray(mask)
    if mask.shape != (n,) or mask.dtype != np.bool_ or not mask.any():
        raise InputError(
            f"reset_mask must be {n} booleans, at least one of them True, got {mask!r}"
        )
    return mask


def seeds_of(seed: Any, n: int) -> list[int | None]:
    """Return a seed for each env; a single seed is the first one's, and the others count up."""
    if seed is None:
        return [None] * n
    if isinstance(seed, int | np.integer):
        seed = [int(seed) + k for k in range(n)]
    if not isinstance(seed, list | tuple | np.ndarray) or len(seed) != n:
        raise InputError(f"seed must be one number or a list of {n}, got {seed!r}")
    seeds = [None if s is None else int(s) for s in seed]
    if any(s is not None and s < 0 for s in seeds):
        raise InputError(f"seed must be 0 or more, got {seed!r}")
    return seeds


def checked_actions(actions: np.ndarray, n: int, count: int) -> np.ndarray:
    """Return `n` actions from 0 to `count` - 1 as int64; compiled code does not check them."""
    if actions.shape != (n,) or actions.dtype.kind not in "iu":
        raise InputError(f"expected {n} actions as whole numbers, got {actions!r}")
    if actions.min() < 0 or actions.max() >= count:
        raise InputError(f"an action is a number from 0 to {count - 1}, got {actions.tolist()}")
    return np.ascontiguousarray(actions, np.int64)


def refuse_ended(running: np.ndarray) -> None:
    """Raise `ResetNeeded` unless the episodes of all envs are running."""
    if not running.all():
        ended = int(np.flatnonzero(running == 0)[0])
        raise gym.error.ResetNeeded(
            f"env {ended} must be reset before this step: its episode has not begun or is over"
        )
