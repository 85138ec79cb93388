"""A log of continuous actions, without an env: which arrays are such logs, and their range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import whole_numbers
from policy_inertia.errors import InputError
from policy_inertia.metrics.action_log import MOST_STEPS, ActionLog

Bounds = tuple[Any, Any]
"""The lower and the upper bound, of all numbers of an action or of each."""


def is_continuous(values: np.ndarray) -> bool:
    """Whether an array holds numbers that are not all whole, apart from NaN."""
    if values.dtype.kind != "f":
        return False
    known = values[~np.isnan(values)]
    return not whole_numbers(known).all()


def split_episodes(values: np.ndarray, where: object, layout: str | None) -> list[np.ndarray]:
    """The episodes `(n, d)` of an array of continuous actions.

    Args:
        values: `(steps,)`, `(steps, numbers)` or `(episodes, steps, numbers)`.
        where: What error messages call the array.
        layout: "rows" or "columns" if each row or column is an episode of one number per action.

    Raises:
        InputError: The array has another shape.
    """
    if values.ndim == 2 and layout in ("rows", "columns"):
        return [row[:, None] for row in (values if layout == "rows" else values.T)]
    if layout not in (None, "steps"):
        raise InputError(
            f"{where} has the shape {values.shape}: the layout {layout} needs two axes"
        )
    if values.ndim == 1:
        return [values[:, None]]
    if values.ndim in (2, 3):
        return list(values) if values.ndim == 3 else [values]
    raise InputError(
        f"{where} has the shape {values.shape}: expected steps, steps x numbers, or episodes x "
        "steps x numbers"
    )


def movement_log(
    episodes: Sequence[np.ndarray], where: object = "the log", bounds: Bounds | None = None
) -> ActionLog:
    """Make a log of continuous actions.

    Args:
        episodes: Numbers `(n, d)`, one array for each episode. Rows of NaN at the end of an episode
            are left out.
        where: What error messages call the log.
        bounds: The bounds of the actions; None for the smallest and the largest number of the log.

    Raises:
        InputError: There are no actions, one is not finite or outside the bounds, or they differ in
            their numbers.
    """
    rows = [_without_end(np.asarray(e, float), where, k) for k, e in enumerate(episodes)]
    if not rows or len({episode.shape[1:] for episode in rows}) != 1:
        raise InputError(
            f"{where} has episodes of different or no shapes: expected steps x numbers"
        )
    together = np.concatenate(rows)
    if len(together) > MOST_STEPS:
        raise InputError(f"{where} holds more than {MOST_STEPS:,} actions: measure a part of it")
    if bounds is None:
        read = Box.from_values(together)
        assert read is not None, "it has two axes"
        space, scaled, _ = read
        layout = "continuous, over the range that the log covers"
    else:
        d = together.shape[1]
        low, high = (tuple(np.broadcast_to(np.asarray(b, float), d).tolist()) for b in bounds)
        space = Box(low, high, (d,), "float64")
        scaled = space.read(together, len(together), str(where))
        layout = "continuous"
    ends = np.cumsum([len(episode) for episode in rows])[:-1]
    return ActionLog(tuple(np.split(scaled, ends)), space, (), layout)


def _without_end(actions: np.ndarray, where: object, number: int) -> np.ndarray:
    """The actions of an episode without rows of NaN at its end."""
    known = np.flatnonzero(~np.isnan(actions).all(1))
    actions = actions[: known[-1] + 1 if len(known) else 0]
    if not len(actions):
        raise InputError(f"{where} holds no actions in episode {number}: remove the episode")
    if not np.isfinite(actions).all():
        step = int(np.argwhere(~np.isfinite(actions))[0][0])
        raise InputError(
            f"{where} holds a NaN or an infinite number at step {step} of episode {number}: mend "
            "the log or cut it there"
        )
    return actions
