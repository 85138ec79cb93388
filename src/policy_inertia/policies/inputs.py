"""The arguments of a policy's methods, checked."""

from __future__ import annotations

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


def check_previous(prev_action: ArrayLike, n: int, n_actions: int) -> np.ndarray:
    """Return previous actions, counted from 0, for `n` observations.

    Raises:
        InputError: There is no such action.
    """
    prev = np.broadcast_to(np.asarray(prev_action), n)
    if prev.min(initial=0) < -1 or prev.max(initial=0) >= n_actions:
        raise InputError(
            f"prev_action holds {prev.min()} to {prev.max()}: expected 0 to {n_actions - 1}, or "
            "-1 at the start of an episode"
        )
    return prev
