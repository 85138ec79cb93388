"""Logs of actions that other programs wrote: .csv, .jsonl and .npy.

A file is read in one of three layouts:

- steps: one row is one step, with the columns `action` and, if there are several, `episode`;
- columns: one column is one episode;
- rows: one row is one episode.

Nothing in a file runs code: an array of objects, which NumPy would unpickle, is refused.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from policy_inertia.errors import InputError, nearest
from policy_inertia.interop.action_table import Cells, Episodes, read_table
from policy_inertia.interop.foreign_files import NUMBERS, parse_npy, parsing, shown
from policy_inertia.metrics.action_log import ActionLog, log_of
from policy_inertia.schema import parse
from policy_inertia.storage import read_file

Layout = Literal["steps", "columns", "rows"]
TEXT_LIMIT = 64 * 2**20
"""Bytes of a .csv or .jsonl file."""
ARRAY_LIMIT = 800 * 2**20
"""Bytes of a .npy file: `MOST_STEPS` numbers of 8 bytes, and its header."""
TEXTS = "U"
"""The kind of NumPy's type that is text."""


def read_log(path: Path, layout: Layout | None = None) -> ActionLog:
    """Read a log of actions.

    Args:
        path: A .csv (or .tsv), .jsonl or .npy file.
        layout: How a table is laid out. By default a table is read by its `action` column if it has
            one; else a .csv has one column, and a .npy one row, for each episode.

    Raises:
        InputError: The file cannot be read, holds no actions, or has another layout.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        close = nearest(ending, READERS) if ending else f": it must end in {', '.join(READERS)}"
        raise InputError(f"{path} ends in '{shown(ending, 20)}'{close}")
    return READERS[ending](path, layout)


def arranged(values: np.ndarray, where: object, layout: Layout | None = None) -> ActionLog:
    """The log in an array.

    Args:
        values: One axis is one episode; so is a single column. Of two axes, each row is an
            episode, unless the layout says "columns". A last axis of length 1 is left out.
        where: What error messages call the array.
        layout: "rows" or "columns".

    Raises:
        InputError: The array has no actions, or another shape.
    """
    shape = values.shape
    if layout == "steps":
        raise InputError(f"{where} is an array, which names no columns: give rows or columns")
    if values.ndim > 1 and shape[-1] == 1:
        values = values[..., 0]
    if values.ndim == 1:
        return log_of([values], "one episode", where)
    if values.ndim != 2:
        raise InputError(f"{where} has the shape {shape}: expected one or two axes")
    if layout == "columns":
        values = values.T
    kind = "column" if layout == "columns" else "row"
    return log_of(list(values), f"one {kind} an episode (shape {shape})", where)


def read_array(path: Path) -> np.ndarray:
    """The array in a .npy file.

    Raises:
        InputError: The file cannot be read, or holds objects.
    """
    advice = "give an array of actions that numpy.save wrote, without objects"
    data = read_file(path, ARRAY_LIMIT)
    with parsing(path, "an array of actions", advice):
        return parse_npy(data, NUMBERS + TEXTS)


def _read_npy(path: Path, layout: Layout | None) -> ActionLog:
    return arranged(read_array(path), path, layout)


def _read_csv(path: Path, layout: Layout | None) -> ActionLog:
    data = read_file(path, TEXT_LIMIT)

    def read(cells: Cells) -> tuple[Episodes, str]:
        with parsing(path, "a table of actions", "give a .csv in UTF-8 with one layout"):
            return read_table(path, data, layout, cells)

    return _with_names(path, read)


def _with_names(path: Path, read: Callable[[Cells], tuple[Episodes, str]]) -> ActionLog:
    """Read actions as numbers; if one is no number, read all of them again as names."""
    cells = Cells(path)
    episodes, layout = read(cells)
    if cells.text:
        cells = Cells(path, named=True)
        episodes, layout = read(cells)
    arrays = [np.array(episode) for episode in episodes]
    return log_of(arrays, layout, path, tuple(cells.names) if cells.named else None)


class Line(NamedTuple):
    """What one line of a .jsonl file holds."""

    kind: str
    actions: list[Any]
    episode: Any = None


def _read_jsonl(path: Path, layout: Layout | None) -> ActionLog:
    if layout is not None:
        raise InputError(f"{path} says in each line what it holds: leave the layout out")
    data = read_file(path, TEXT_LIMIT)

    def read(cells: Cells) -> tuple[Episodes, str]:
        episodes: dict[Any, array[float]] = {}
        kind = ""
        for number, text in lines_of(data):
            where = f"line {number} of {path}"
            line = line_of(parse(text, json.loads, where, "actions"), where)
            if kind not in ("", line.kind):
                raise InputError(f"{where} holds {line.kind}, and the lines before {kind}")
            kind = line.kind
            key = number if kind == EPISODE_LINE else line.episode
            episode = episodes.setdefault(key, array("d"))
            episode.extend(cells.value(action, where) for action in line.actions)
        return list(episodes.values()), f"one line is {kind}"

    return _with_names(path, read)


EPISODE_LINE, STEP_LINE = "an episode", "a step"


def line_of(value: Any, where: str) -> Line:
    """An episode is a list, or an object with `actions`; a step an action, or one with `action`."""
    if isinstance(value, list):
        return Line(EPISODE_LINE, value)
    if isinstance(value, dict) and isinstance(value.get("actions"), list):
        return Line(EPISODE_LINE, value["actions"])
    if isinstance(value, dict):
        episode = value.get("episode")
        if "action" not in value or isinstance(episode, list | dict):
            raise InputError(
                f"{where} is an object with {shown(', '.join(value), 80) or 'nothing'}: expected "
                "action and episode, or actions, which is a list"
            )
        return Line(STEP_LINE, [value["action"]], episode)
    return Line(STEP_LINE, [value])


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers; without a copy of the whole file."""
    start, number = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line, start, number = data[start:end].strip(), end + 1, number + 1
        if line:
            yield number, line


READERS: dict[str, Callable[[Path, Layout | None], ActionLog]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_jsonl,
    ".npy": _read_npy,
}
