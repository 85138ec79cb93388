"""Episodes, and how often the actions of an episode switch.

The *actions* of an episode are the sequence a_0 ... a_{n-1} of primitive actions. Edge cases: an
episode of one step has no switch, so its ratio is 0; an episode without steps is an error; over no
episodes at all, every mean is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Episode:
    """One finished episode.

    Attributes:
        return_: Undiscounted sum of the rewards.
        actions: The actions in their order, `(n, *shape)`.
        terminated: Whether the env ended the episode; False after a time limit.
        crashed: Whether the episode ended in a crash; None if the env does not report it.
        space: The space of the actions; None means one number per action.
        forced: Switches that an action mask forced on a limit; None without a limit and masks.
    """

    return_: float
    actions: np.ndarray
    terminated: bool
    crashed: bool | None = None
    space: ActionSpace | None = None
    forced: int | None = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def switches(self) -> int:
        """The number of steps whose action differs from the one before."""
        return switches(self.actions, self.space)

    @property
    def reversals(self) -> int:
        """The number of steps that undo the switch before them."""
        return reversals(self.actions, self.space)


def switches(actions: ArrayLike, space: ActionSpace | None = None) -> int:
    """c_i of the paper: the number of steps of one episode with a_t != a_{t-1}."""
    a = _checked(actions, space)
    return int(np.count_nonzero(~_equal(a[1:], a[:-1], space)))


def reversals(actions: ArrayLike, space: ActionSpace | None = None) -> int:
    """The number of steps that undo a switch (A, B, A) in one episode."""
    a = _checked(actions, space)
    return int(np.count_nonzero(_equal(a[2:], a[:-2], space) & ~_equal(a[2:], a[1:-1], space)))


def oscillation_ratio(episodes: Iterable[ArrayLike]) -> float:
    """xi, Equation (action-oscillation-ratio) as evaluated: the mean over episodes of c_i / n_i."""
    return mean([switches(e) / len(np.asarray(e)) for e in episodes])


def switch_matrix(episodes: Iterable[ArrayLike], n_actions: int) -> np.ndarray:
    """Counts[i, j] of action j right after action i; the diagonal counts repetitions."""
    counts = np.zeros((n_actions, n_actions), np.int64)
    for episode in episodes:
        actions = _checked(episode)
        if actions.min() < 0 or actions.max() >= n_actions:
            raise InputError(
                f"an episode holds actions from {actions.min()} to {actions.max()}: with "
                f"n_actions={n_actions} they must lie in 0 to {n_actions - 1}"
            )
        np.add.at(counts, (actions[:-1], actions[1:]), 1)
    return counts


def holds(actions: ArrayLike, space: ActionSpace | None = None) -> np.ndarray:
    """For how many steps one episode held each action, in the order of the episode."""
    a = _checked(actions, space)
    ends = np.flatnonzero(~_equal(a[1:], a[:-1], space)) + 1
    return np.diff(ends, prepend=0, append=len(a))


def mean(values: Sequence[Any]) -> float:
    """The mean of the values; NaN if there are none."""
    return float(np.mean(values)) if len(values) else float("nan")


def _checked(actions: ArrayLike, space: ActionSpace | None = None) -> np.ndarray:
    array = np.asarray(actions)
    shape = () if space is None else space.shape
    if array.ndim < 1 or array.shape[1:] != shape or not len(array):
        raise InputError(
            f"an episode's actions have shape {array.shape}: give a sequence of at least one "
            f"action of shape {shape}"
        )
    return array


def _equal(a: np.ndarray, b: np.ndarray, space: ActionSpace | None) -> np.ndarray:
    """Which pairs of actions are equal: `(n,)` booleans."""
    return np.asarray(a == b if space is None else space.close(a, b))
