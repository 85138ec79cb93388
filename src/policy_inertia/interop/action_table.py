"""A table of actions as text, such as a .csv file: its layout, and its cells."""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from policy_inertia.errors import InputError, shown
from policy_inertia.metrics.action_log import refuse_many

ACTION = ("action", "actions")
EPISODE = ("episode", "episode_id", "episode_index", "episode_idx", "ep", "run")
COUNTER = ("", "unnamed: 0", "index", "step", "steps", "timestep", "t", "time", "i", "frame")
"""Names of a first column that holds the numbers of the rows."""
COUNTED = 10
"""Rows from which on a column without a name that counts 0, 1, 2, ... holds their numbers."""
HEADING = re.compile(r"(episode|ep|run|rollout|trial|seed|env)s?[\s_#-]*\d*", re.I)
"""The name of a column that is told from the name of an action."""
MISSING = ("", "nan")
DELIMITERS = ",;\t"
LONGEST_LINE = 2**23
"""Letters of a line, which becomes a list of cells."""
MOST_EPISODES = 100_000
LONGEST_NAME = 100
MOST_SEEN = 10_000
"""Different texts of cells that are remembered, so that each is read once."""

Episodes = list["array[float]"]
Rows = Iterator[tuple[int, list[str]]]
"""The number of a line, and its cells; no cells for an empty line."""


class Cells:
    """Turns cells and JSON values into numbers; NaN stands for a cell that is empty.

    Attributes:
        named: Whether the actions are names; then the numbers are places in `names`.
        names: The names and their places.
        text: Whether a cell was no number.
    """

    def __init__(self, where: object, named: bool = False) -> None:
        self.where, self.named, self.text = where, named, False
        self.names: dict[str, float] = {}
        self._seen: dict[str, float] = {}

    def cell(self, text: str, line: int) -> float:
        """The number of a cell in a line of the table."""
        number = self._seen.get(text)
        if number is None:
            number = self.value(text, f"line {line} of {self.where}")
            if len(self._seen) < MOST_SEEN:
                self._seen[text] = number
        return number

    def value(self, cell: Any, place: str) -> float:
        """The number of an action; `place` is where it stands, for error messages."""
        if isinstance(cell, list) and len(cell) == 1:
            cell = cell[0]
        if is_missing(cell):
            return float("nan")
        if not isinstance(cell, str | int | float):
            raise InputError(f"{place} holds {shown(cell)}: expected an action, a number or a name")
        if self.named:
            return self._place(str(cell).strip(), place)
        try:
            return float(cell)
        except ValueError:
            self.text = True
            return 0.0  # all cells are read again, as names

    def _place(self, name: str, place: str) -> float:
        if len(name) > LONGEST_NAME:
            raise InputError(f"{place} holds {shown(name)}: expected a number or a shorter name")
        code = self.names.setdefault(name, float(len(self.names)))
        if code == len(self.names) - 1:
            refuse_many(list(self.names), self.where)
        return code


def is_missing(cell: Any) -> bool:
    """Whether a cell holds no action: it is empty, null or NaN."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell != cell


def read_table(
    where: object, data: bytes, layout: str | None, cells: Cells
) -> tuple[Episodes, str]:
    """Read the episodes of a table.

    Args:
        where: The file, for error messages.
        data: Its bytes: UTF-8, with commas, semicolons or tabs between the cells.
        layout: "steps", "columns" or "rows"; None for "steps" if there is a column `action`, else
            "columns".
        cells: Turns cells into numbers.

    Returns:
        The episodes, and how they were read.
    """
    rows = table_rows(where, data)
    first = next((row for row in rows if row[1]), None)
    if first is None:
        raise InputError(f"{where} is empty: expected a table of actions")
    heading = [cell.strip().lower() for cell in first[1]]
    action, episode = _find(heading, ACTION), _find(heading, EPISODE)
    if layout in (None, "steps") and action is not None:
        return _steps(where, rows, action, episode, cells)
    if layout == "steps" or (layout is None and episode is not None):
        raise InputError(
            f"{where} has the columns {shown(', '.join(heading))}: name the one that holds the "
            "actions `action`"
        )
    second = next(rows, None)
    begin = [row for row in (first, second) if row is not None]
    headed = is_heading(first[1], [] if second is None else second[1])
    body = chain(begin[1:] if headed else begin, rows)
    if layout == "rows":
        return _as_rows(where, body, cells)
    return _as_columns(where, body, heading if headed else [], cells)


def table_rows(where: object, data: bytes) -> Rows:
    """The rows of a table in UTF-8, with commas, semicolons or tabs between the cells."""
    file = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    lines = _short_lines(where, file)
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    for row in reader:
        yield reader.line_num, row if any(cell.strip() for cell in row) else []


def _short_lines(where: object, file: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"line {number} of {where} has {len(line):,} letters, and at most "
                f"{LONGEST_LINE:,} are read: give a .npy file"
            )
        yield line


def _find(heading: list[str], names: tuple[str, ...]) -> int | None:
    return next((i for i, name in enumerate(heading) if name in names), None)


def is_heading(first: list[str], second: list[str]) -> bool:
    """Whether the first row holds names of columns."""
    if len(first) > 1 and first[0].strip().lower() in COUNTER:
        return True  # the numbers of the rows stand below, as pandas writes them
    names = [cell for cell in first if not is_missing(cell)]
    if any(map(_is_number, names)):
        return False
    if all(HEADING.fullmatch(name.strip()) for name in names):
        return True
    below = [cell for cell in second if not is_missing(cell)]
    return bool(below) and all(map(_is_number, below))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _steps(
    where: object, rows: Rows, action: int, episode: int | None, cells: Cells
) -> tuple[Episodes, str]:
    """One row is one step; the rows of an episode need not lie together."""
    episodes: dict[str, array[float]] = {}
    for number, row in rows:
        if not row:
            continue
        value = cells.cell(row[action], number) if action < len(row) else math.nan
        key = ""
        if episode is not None:
            key = row[episode].strip() if episode < len(row) else ""
        if math.isnan(value) or (episode is not None and is_missing(key)):
            what = "action" if math.isnan(value) else "episode"
            raise InputError(f"line {number} of {where} has no {what}: mend the line or remove it")
        episodes.setdefault(key, array("d")).append(value)
        _refuse_many_episodes(where, len(episodes))
    columns = "the column action" if episode is None else "the columns episode and action"
    return list(episodes.values()), f"one row a step, by {columns}"


def _as_rows(
    where: object, rows: Iterable[tuple[int, list[str]]], cells: Cells
) -> tuple[Episodes, str]:
    """One row is one episode."""
    episodes: Episodes = []
    for number, row in rows:
        if row:
            episodes.append(array("d", (cells.cell(cell, number) for cell in row)))
            _refuse_many_episodes(where, len(episodes))
    return episodes, "one row an episode"


def _as_columns(
    where: object, rows: Iterable[tuple[int, list[str]]], heading: list[str], cells: Cells
) -> tuple[Episodes, str]:
    """One column is one episode; a column that ends earlier is a shorter episode.

    A single row without names is one episode: nobody logs episodes of one step side by side.
    """
    columns: Episodes = [array("d") for _ in heading]
    for step, (number, row) in enumerate(rows):
        _refuse_many_episodes(where, len(row))
        columns.extend(array("d") for _ in range(len(row) - len(columns)))
        for column, cell in zip(columns, row, strict=False):
            value = cells.cell(cell, number)
            if value != value:
                continue
            if len(column) < step:
                raise InputError(
                    f"line {number} of {where} holds an action below an empty cell: only the end "
                    "of a column may be empty, so mend the log or cut it there"
                )
            column.append(value)
    if not heading and all(len(column) == 1 for column in columns):
        return [array("d", (column[0] for column in columns))], "one row, which is one episode"
    counter = len(columns) > 1 and _counts_rows(columns[0], heading)
    if counter:
        columns, heading = columns[1:], heading[1:]
    # a delimiter at the end of every line makes a column without a name and without cells
    columns = [c for i, c in enumerate(columns) if c or (i < len(heading) and heading[i])]
    left_out = " (the first column, which counts the rows, is left out)" if counter else ""
    return columns, f"one column an episode{left_out}"


def _counts_rows(column: array[float], heading: list[str]) -> bool:
    if heading and heading[0] in COUNTER:
        return True
    first = column[0] if column else 2
    counts = first in (0, 1) and all(x == first + i for i, x in enumerate(column))
    return counts and len(column) >= COUNTED


def _refuse_many_episodes(where: object, n: int) -> None:
    if n > MOST_EPISODES:
        raise InputError(f"{where} has more than {MOST_EPISODES:,} episodes: measure a part of it")
