"""Measure how much the actions of a log oscillate, without an env."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, shown
from policy_inertia.interop.action_file import Layout, arranged, read_log
from policy_inertia.metrics.action_log import ActionLog, Measurement, log_of


def measure(
    actions: Any, step_time: float | None = None, layout: Layout | None = None
) -> Measurement:
    """Return how often the actions of a log switch, for how long they are held, and from which to
    which they switch.

    Args:
        actions: Whole numbers or names: the actions of one episode; one such list for each episode;
            an array with one row for each episode; episodes of `evaluate`; or the path of a .csv,
            .jsonl or .npy file (see docs/running.md).
        step_time: Seconds of a step. With it, the figures are also given in seconds.
        layout: How a file or an array is laid out, where it is not the default: "steps" (one row
            a step), "columns" (one column an episode) or "rows" (one row an episode).

    Returns:
        The measurement: `figures` by name, `switch_matrix`, `holds`, and `summary()` as JSON.

    Raises:
        InputError: There are no actions, they are no whole numbers or names, or the file cannot be
            read.
    """
    return Measurement(_log(actions, layout), step_time)


def _log(actions: Any, layout: Layout | None) -> ActionLog:
    if isinstance(actions, str | os.PathLike):
        return read_log(Path(actions), layout)
    if isinstance(actions, np.ndarray):
        return arranged(actions, "the array", layout)
    if layout is not None:
        raise InputError(f"the layout is {layout!r}: it is for files and arrays only")
    if not isinstance(actions, Iterable):
        raise InputError(f"actions is {shown(actions)}: give a list of actions, or of episodes")
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
