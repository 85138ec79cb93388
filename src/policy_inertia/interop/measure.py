"""Measure how much the actions of a log oscillate, without an env."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, shown
from policy_inertia.interop.action_file import Layout, arranged, read_array, read_log
from policy_inertia.interop.movement_file import read_movement
from policy_inertia.metrics.action_log import ActionLog, Measurement, log_of
from policy_inertia.metrics.movement_log import (
    Bounds,
    is_continuous,
    movement_log,
    split_episodes,
)


def measure(
    actions: Any,
    step_time: float | None = None,
    layout: Layout | None = None,
    bounds: Bounds | None = None,
) -> Measurement:
    """Return how often the actions of a log switch, for how long they are held, and from which to
    which they switch; for continuous actions, how much they move.

    Args:
        actions: Whole numbers or names: the actions of one episode; one such list for each episode;
            an array with one row for each episode; episodes of `evaluate`; or the path of a .csv,
            .jsonl or .npy file (see docs/running.md).
        step_time: Seconds of a step. With it, the figures are also given in seconds.
        layout: How a file or an array is laid out, where it is not the default: "steps" (one row
            a step), "columns" (one column an episode) or "rows" (one row an episode).
        bounds: The lower and upper bounds of continuous actions. Without them, an array or a file
            is continuous if not all of its numbers are whole, and its range is what it covers; see
            docs/continuous.md.

    Returns:
        The measurement: `figures` by name, `switch_matrix`, `holds`, and `summary()` as JSON.

    Raises:
        InputError: There are no actions, they are no whole numbers or names, or the file cannot be
            read.
    """
    if isinstance(actions, str | os.PathLike) and Path(actions).suffix.lower() == ".npy":
        array, where = read_array(Path(actions)), Path(actions)
        return Measurement(_array_log(array, where, layout, bounds), step_time)
    if isinstance(actions, np.ndarray):
        return Measurement(_array_log(actions, "the array", layout, bounds), step_time)
    if not isinstance(actions, str | os.PathLike | Iterable):
        raise InputError(f"actions is {shown(actions)}: give a list of actions, or of episodes")
    if isinstance(actions, str | os.PathLike):
        log = read_movement(Path(actions), layout, bounds)
    else:
        actions = list(actions)
        log = _movement(actions, bounds)
    if log is not None:
        return Measurement(log, step_time)
    if bounds is not None:
        raise InputError("bounds are for continuous actions: give those as an array or a file")
    return Measurement(_log(actions, layout), step_time)


def _array_log(
    values: np.ndarray, where: object, layout: Layout | None, bounds: Bounds | None
) -> ActionLog:
    if bounds is not None or is_continuous(values):
        return movement_log(split_episodes(values, where, layout), where, bounds)
    return arranged(values, where, layout)


def _movement(episodes: list[Any], bounds: Bounds | None) -> ActionLog | None:
    """A log of continuous actions from a list of episodes; None if they are something else."""
    spaces = {getattr(episode, "space", None) for episode in episodes}
    space = spaces.pop() if len(spaces) == 1 else None
    if space is not None and space.shape:
        layout = "heads" if space.finite else "continuous"
        return ActionLog(tuple(e.actions for e in episodes), space, (), layout)
    arrays = [e for e in episodes if isinstance(e, np.ndarray) and e.dtype.kind in "biuf"]
    if not arrays or len(arrays) != len(episodes) or {a.ndim for a in arrays} - {1, 2}:
        return None
    if bounds is None and not any(map(is_continuous, arrays)):
        return None
    return movement_log([a if a.ndim == 2 else a[:, None] for a in arrays], bounds=bounds)


def _log(actions: Any, layout: Layout | None) -> ActionLog:
    if isinstance(actions, str | os.PathLike):
        return read_log(Path(actions), layout)
    if layout is not None:
        raise InputError(f"the layout is {layout!r}: it is for files and arrays only")
    items = [getattr(item, "actions", item) for item in actions]
    try:
        arrays = [np.asarray(item) for item in items]
    except ValueError:  # lists of different lengths inside an episode
        raise InputError("the actions of an episode have different shapes: give numbers") from None
    if arrays and all(item.ndim == 0 for item in arrays):
        return log_of([np.array(items)], "one episode")
    for number, item in enumerate(arrays):
        if item.ndim == 2 and item.shape[1] == 1:
            arrays[number] = item[:, 0]
        elif item.ndim != 1:
            raise InputError(
                f"episode {number} has actions of shape {item.shape}: expected a list of actions"
            )
    return log_of(arrays, "one list an episode")
