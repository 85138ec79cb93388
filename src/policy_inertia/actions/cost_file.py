"""Tables of costs from action to action, in small files that users write: .csv, .json and .toml."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.actions.switching import Switching
from policy_inertia.errors import InputError, nearest
from policy_inertia.schema import in_file, parse, read_as
from policy_inertia.storage import read_file

LARGEST = 2**20
"""Bytes of a table's file."""
MOST_ACTIONS = 1_024
"""Rows of a table in a file."""

Rows = list[list[float]]


def read_costs(path: Path) -> tuple[tuple[float, ...], ...]:
    """Read a table of costs: `costs[i][j]` is what a switch from action i to action j costs.

    Args:
        path: A .csv file with a line for each action and no heading; a .json file with a list of
            rows; or a .toml file with `costs = [[...], ...]`.

    Raises:
        InputError: The file cannot be read, or its numbers are no table of costs.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        close = nearest(ending, READERS) if ending else f": it must end in {', '.join(READERS)}"
        raise InputError(f"{path} ends in '{ending[:20]}'{close}")
    rows = READERS[ending](read_file(path, LARGEST), path)
    if not 1 <= len(rows) <= MOST_ACTIONS:
        raise InputError(
            f"{path} has {len(rows):,} rows: give one for each action, at most {MOST_ACTIONS:,}"
        )
    with in_file(path):
        table = Switching.of(rows).costs
    assert table is not None
    return table


def _csv(data: bytes, path: Path) -> Rows:
    return parse(data, _csv_rows, path, "a table of numbers in CSV")


def _csv_rows(text: str) -> Rows:
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise ValueError(error) from None
    return [[float(cell) for cell in row] for row in rows if row]


def _json(data: bytes, path: Path) -> Rows:
    return read_as(Rows, parse(data, json.loads, path, "a table of costs in JSON"), path)


def _toml(data: bytes, path: Path) -> Rows:
    values = parse(data, tomllib.loads, path, "a table of costs in TOML")
    if list(values) != ["costs"]:
        raise InputError(f"{path} has the keys {list(values)[:5]}: give costs = [[...], ...] alone")
    return read_as(Rows, values["costs"], path)


READERS: dict[str, Callable[[bytes, Path], Any]] = {".csv": _csv, ".json": _json, ".toml": _toml}
"""By the ending of the file."""
