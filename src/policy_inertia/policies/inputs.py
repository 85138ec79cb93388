"""The arguments of a policy's methods, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.errors import InputError


def one_or_batch(
    observation: ArrayLike, shape: tuple[int, ...], task: str
) -> tuple[np.ndarray, bool]:
    """Return observations as a batch, and whether there was a single one.

    Args:
        observation: One observation, or a batch of them.
        shape: The shape of one observation.
        task: The env's name in the error; it may be empty.

    Raises:
        InputError: The shape is another one.
    """
    obs = np.asarray(observation)
    if obs.shape == shape:
        return obs[None], True
    if obs.ndim == len(shape) + 1 and obs.shape[1:] == shape:
        return obs, False
    raise InputError(
        f"the observation has shape {obs.shape}: this policy was trained on {task or 'a task'} "
        f"with shape {shape}, so give that or a batch of it"
    )


def previous_rows(actions: Any, values: ArrayLike, n: int) -> np.ndarray:
    """Return the previous actions of `n` observations.

    Args:
        actions: The action space.
        values: One action for all or one for each, as the library has them: Discrete ones count
            from 0, Box ones are rows of numbers from -1 to 1. -1 alone stands for none.
        n: The number of observations.

    Raises:
        InputError: An action is not in the space.
    """
    rows = np.asarray(values)
    if rows.ndim == 0 and rows == -1:
        return actions.null(n)
    if actions.finite:
        return _numbers(np.broadcast_to(rows, (n, *actions.shape)), actions)
    (d,) = actions.shape
    if rows.shape[-1:] != (d,) or rows.shape not in ((d,), (n, d)):
        raise InputError(
            f"prev_action has shape {rows.shape}: expected {(n, d)} or {(d,)}, numbers from -1 to "
            "1, or -1 alone at the start of an episode"
        )
    rows = np.broadcast_to(rows, (n, d)).astype(float)
    if not (actions.contains(rows) | actions.is_null(rows)).all():
        raise InputError(
            "prev_action holds numbers outside -1 to 1: scale the env's actions with "
            "policy.spaces.actions.from_env"
        )
    return rows


def _numbers(rows: np.ndarray, actions: Any) -> np.ndarray:
    known = actions.contains(rows) | actions.is_null(rows)
    if not known.all() or rows.min(initial=0) < -1:
        last = " and more" if actions.shape else f" to {actions.width - 1}"
        raise InputError(
            f"prev_action holds {rows.min()} to {rows.max()}: expected 0{last}, or -1 at the start "
            "of an episode"
        )
    return rows
