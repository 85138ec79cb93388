"""Logs of continuous actions as text: .csv and .jsonl files whose numbers are not all whole.

- A .csv file has one row for each step and one column for each number of an action. With names, the
  columns `action`, or `action_0`, `action_1` and so on are read, and `episode` if there is one; or
  all of them, if none has such a name. With the layout "columns" or "rows", each column or row is
  an episode of one number per action.
- A line of a .jsonl file is an episode, [[0.1, 0.2], ...] or {"actions": [[0.1, 0.2], ...]}, or a
  step, {"episode": 3, "action": [0.1, 0.2]}.

What is not continuous is left to `action_file.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.interop.action_file import EPISODE_LINE, TEXT_LIMIT, Layout, line_of, lines_of
from policy_inertia.interop.action_table import (
    ACTION,
    COUNTER,
    EPISODE,
    HEADING,
    MOST_EPISODES,
    is_heading,
    is_missing,
    table_rows,
)
from policy_inertia.interop.foreign_files import parsing
from policy_inertia.metrics.action_log import ActionLog
from policy_inertia.metrics.movement_log import Bounds, is_continuous, movement_log
from policy_inertia.schema import parse
from policy_inertia.storage import read_file

NUMBERED_ACTION = re.compile(r"(actions?|a|u|act|cmd|command)[\s_.\-]*[\[(]?\d+[\])]?", re.I)
"""The name of a column that holds one number of the actions."""
FRACTION = re.compile(rb"\d[.eE]|\.\d")
"""What a number that is not whole has in it."""

Rows = dict[Any, list[list[float]]]
"""The steps of each episode, by its name."""


def read_movement(
    path: Path, layout: Layout | None = None, bounds: Bounds | None = None
) -> ActionLog | None:
    """Read a log of continuous actions; None if the file is none, or of another kind.

    Args:
        path: A .csv, .tsv or .jsonl file.
        layout: How a table is laid out.
        bounds: The bounds of the actions; without them, a log of whole numbers is not continuous.

    Raises:
        InputError: The file cannot be read, or its numbers are no actions within the bounds.
    """
    read = READERS.get(path.suffix.lower())
    if read is None:
        return None
    data = read_file(path, TEXT_LIMIT)
    if bounds is None and FRACTION.search(data) is None:
        return None
    with parsing(path, "a log of actions", "give a .csv or .jsonl file in UTF-8, or a .npy file"):
        rows, how = read(path, data, layout)
    if rows is None:
        if bounds is not None:
            raise InputError(
                f"bounds are for continuous actions, and {path} holds something else than numbers"
            )
        return None
    episodes = _arrays(rows, path)
    if bounds is None and not any(map(is_continuous, episodes)):
        return None
    log = movement_log(episodes, path, bounds)
    return replace(log, layout=f"{how}; {log.layout}")


def _arrays(rows: Rows, path: Path) -> list[np.ndarray]:
    widths = {len(row) for steps in rows.values() for row in steps}
    if len(widths) != 1:
        raise InputError(
            f"{path} has actions of {min(widths, default=0)} to {max(widths, default=0)} numbers: "
            "every action needs as many as the others"
        )
    return [np.array(steps, float) for steps in rows.values()]


def _read_csv(path: Path, data: bytes, layout: Layout | None) -> tuple[Rows | None, str]:
    table = [(number, row) for number, row in table_rows(path, data) if row]
    first, second = (table[k][1] if len(table) > k else [] for k in (0, 1))
    names = [cell.strip().lower() for cell in first] if is_heading(first, second) else []
    if not all(map(_is_number, first)) and not names and _named(first):
        names = [cell.strip().lower() for cell in first]
    body = [row for _, row in table[bool(names) :]]
    episode = next((i for i, name in enumerate(names) if name in EPISODE), None)
    columns = _columns(names, max(map(len, body), default=0), episode)
    if layout is None and names and all(HEADING.fullmatch(names[i]) for i in columns):
        layout = "columns"  # names such as episode_1, run_2
    values = [[_number(row[i]) if i < len(row) else np.nan for i in columns] for row in body]
    if any(value is None for row in values for value in row):
        return None, ""
    numbers: list[list[float]] = values  # type: ignore[assignment]
    if layout == "rows":
        return {k: [[x] for x in row] for k, row in enumerate(numbers)}, "one row an episode"
    if layout == "columns":
        turned = zip(*numbers, strict=True)
        return {k: [[x] for x in row] for k, row in enumerate(turned)}, "one column an episode"
    rows: Rows = {}
    for row, actions in zip(body, numbers, strict=True):
        key = "" if episode is None or episode >= len(row) else row[episode].strip()
        rows.setdefault(key, []).append(actions)
        _refuse_many(rows, path)
    return rows, "one row a step, one column a number"


def _named(first: list[str]) -> bool:
    """Whether a first row names a column of actions."""
    names = [cell.strip().lower() for cell in first]
    return any(name in ACTION or NUMBERED_ACTION.fullmatch(name) for name in names)


def _columns(names: list[str], width: int, episode: int | None) -> list[int]:
    """The columns that hold the numbers of the actions."""
    if not names:
        return list(range(width))
    numbered = [i for i, name in enumerate(names) if NUMBERED_ACTION.fullmatch(name)]
    alone = [i for i, name in enumerate(names) if name in ACTION]
    others = [i for i, name in enumerate(names) if i != episode and name not in COUNTER]
    return numbered or alone or others


def _number(cell: str) -> float | None:
    """The number of a cell, NaN for an empty one; None for a text."""
    if is_missing(cell):
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        return None


def _is_number(cell: str) -> bool:
    return _number(cell) is not None


def _read_jsonl(path: Path, data: bytes, layout: Layout | None) -> tuple[Rows | None, str]:
    rows, kind = Rows(), ""
    for number, text in lines_of(data):
        where = f"line {number} of {path}"
        line = line_of(parse(text, json.loads, where, "actions"), where)
        if kind not in ("", line.kind):
            raise InputError(f"{where} holds {line.kind}, and the lines before {kind}")
        kind = line.kind
        actions = list(_actions(line.actions))
        if None in actions:
            return None, ""
        key = number if kind == EPISODE_LINE else line.episode
        rows.setdefault(key, []).extend(action for action in actions if action is not None)
        _refuse_many(rows, path)
    return rows, f"one line is {kind}"


def _actions(values: list[Any]) -> Iterator[list[float] | None]:
    """The numbers of each action; None for what is no action of numbers."""
    for value in values:
        numbers = value if isinstance(value, list) else [value]
        known = all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers)
        yield [float(x) for x in numbers] if known and numbers else None


def _refuse_many(rows: Rows, path: Path) -> None:
    if len(rows) > MOST_EPISODES:
        raise InputError(f"{path} has more than {MOST_EPISODES:,} episodes: measure a part of it")


READERS: dict[str, Callable[[Path, bytes, Layout | None], tuple[Rows | None, str]]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_jsonl,
}
