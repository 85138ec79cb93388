"""Damaged files: seeded mutations of bytes and of JSON trees, and the loop that reads them.

Every case has its own generator, `case_generator(seed, i)`, so that a failing case can be run
again alone. No mutation makes a file much larger than it was.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from policy_inertia.errors import InputError

Generator = np.random.Generator

DEEP = "@deep@"
"""Stands for a value that is nested 100,000 times, until the tree is written as text."""

MEMORY = 2**30
"""How much the peak memory of the process may grow while all cases run."""

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    1e308,
    10**7,
    10**30,
    -(2**63),
    "",
    "x",
    "0",
    "nan",
    "x" * 10_000,
    "\ud800",
    "a\nb\0c",
    "[/b][red]",
    "../../etc/passwd",
    "os:system",
    [],
    {},
    [1, 2, 3],
    [[]],
    [None],
    [10**6, 10**6],
    {"x": 1},
    {"": {}},
    {":type:": "x", ":serialized:": "gASVAAAA"},
    DEEP,
)


def case_generator(seed: int, case: int) -> Generator:
    """The generator of one case."""
    return np.random.default_rng([seed, case])


def check_cases(
    read: Callable[[Generator], Any], cases: int, seed: int = 0, first: int = 0
) -> dict[str, int]:
    """Read `cases` damaged files; each is either read or refused in one sentence.

    Args:
        read: Makes a damaged file with the generator of the case, and reads it.
        cases: How many cases.
        seed: Seed of all cases.
        first: Number of the first case, to run one again.

    Returns:
        How many files were "read" and how many "refused".

    Raises:
        AssertionError: Reading ended in another exception than InputError, in an InputError that is
            not one line, or took more than `MEMORY`.
    """
    counts = {"read": 0, "refused": 0}
    before = _peak_memory()
    for case in range(first, first + cases):
        where, message = f"case {case} of seed {seed}", ""
        try:
            read(case_generator(seed, case))
            counts["read"] += 1
        except InputError as error:
            counts["refused"] += 1
            message = str(error)
            if not message.strip():
                raise AssertionError(f"{where}: the message is empty") from error
        except Exception as error:
            raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
        assert len(message.splitlines()) <= 1, f"{where}: {message!r} is more than one line"
        assert len(message) < 2_000, f"{where}: {message[:500]!r}... is too long"
        grown = _peak_memory() - before
        assert grown < MEMORY, f"{where}: the process needed {grown:,} bytes more than before"
    return counts


def _peak_memory() -> int:
    """The most memory that this process ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# Bytes -------------------------------------------------------------------------------------------


def mutate_bytes(data: bytes, rng: Generator) -> bytes:
    """Damage bytes in one to four ways."""
    for _ in range(int(rng.integers(1, 5))):
        change = BYTE_MUTATIONS[int(rng.integers(len(BYTE_MUTATIONS)))]
        data = change(data, rng) if data else b""
    return data


def _span(data: bytes, rng: Generator, longest: int = 64) -> tuple[int, int]:
    start = int(rng.integers(len(data)))
    return start, min(len(data), start + int(rng.integers(1, longest + 1)))


def flip_bits(data: bytes, rng: Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncate(data: bytes, rng: Generator) -> bytes:
    return data[: int(rng.integers(len(data)))]


def cut_out(data: bytes, rng: Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def insert_noise(data: bytes, rng: Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + rng.bytes(stop - start) + data[start:]


def splice(data: bytes, rng: Generator) -> bytes:
    """Copy a part of the data over another part."""
    start, stop = _span(data, rng)
    to = int(rng.integers(len(data)))
    return data[:to] + data[start:stop] + data[to + stop - start :]


def overwrite(data: bytes, rng: Generator) -> bytes:
    """Write a number that is often a limit: 0, the largest, the smallest, 1."""
    size = int(rng.choice([1, 2, 4, 8]))
    start = int(rng.integers(len(data)))
    smallest = b"\0" * (size - 1) + b"\x80"
    values = (b"\0" * size, b"\xff" * size, smallest, b"\x01" + b"\0" * (size - 1))
    value = values[int(rng.integers(len(values)))]
    return data[:start] + value + data[start + size :]


BYTE_MUTATIONS: Sequence[Callable[[bytes, Generator], bytes]] = (
    flip_bits,
    truncate,
    cut_out,
    insert_noise,
    splice,
    overwrite,
)


# JSON --------------------------------------------------------------------------------------------


def mutate_tree(tree: Any, rng: Generator) -> Any:
    """A copy of a JSON tree in which one to three places are changed."""
    tree = json.loads(json.dumps(tree))
    for _ in range(int(rng.integers(1, 4))):
        places = _places(tree)
        place = int(rng.integers(len(places) + 1))
        if place == len(places):
            tree = odd_value(rng) if rng.random() < 0.2 else tree
            continue
        container, key = places[place]
        TREE_MUTATIONS[int(rng.integers(len(TREE_MUTATIONS)))](container, key, rng)
    return tree


def json_text(tree: Any) -> str:
    """The tree as JSON; like Python's own writer, it writes NaN and Infinity."""
    depth = 100_000
    return json.dumps(tree).replace(json.dumps(DEEP), "[" * depth + "]" * depth)


def mutate_json(tree: Any, rng: Generator) -> str:
    """The text of a mutated tree."""
    return json_text(mutate_tree(tree, rng))


def odd_value(rng: Generator) -> Any:
    """A copy of one of `ODD_VALUES`."""
    value = ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    return json.loads(json.dumps(value))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """All (container, key) in a tree."""
    if isinstance(tree, dict):
        keys: list[Any] = list(tree)
    elif isinstance(tree, list):
        keys = list(range(len(tree)))
    else:
        return []
    return [(tree, key) for key in keys] + [p for key in keys for p in _places(tree[key])]


def _replace(container: Any, key: Any, rng: Generator) -> None:
    container[key] = odd_value(rng)


def _remove(container: Any, key: Any, rng: Generator) -> None:
    del container[key]


def _rename(container: Any, key: Any, rng: Generator) -> None:
    if isinstance(container, dict):
        container[f"{key}x" if rng.random() < 0.5 else ""] = container.pop(key)


def _swap(container: Any, key: Any, rng: Generator) -> None:
    keys = list(container) if isinstance(container, dict) else range(len(container))
    other = keys[int(rng.integers(len(keys)))]
    container[key], container[other] = container[other], container[key]


def _wrap(container: Any, key: Any, rng: Generator) -> None:
    container[key] = [container[key]] if rng.random() < 0.5 else {"value": container[key]}


def _as_text(container: Any, key: Any, rng: Generator) -> None:
    container[key] = str(container[key])[:1_000]


def _another_number(container: Any, key: Any, rng: Generator) -> None:
    if isinstance(container[key], int | float):
        value = container[key]
        container[key] = (-value, value + 1, value * 10**6, value / 3)[int(rng.integers(4))]
    else:
        _replace(container, key, rng)


TREE_MUTATIONS: Sequence[Callable[[Any, Any, Generator], None]] = (
    _replace,
    _replace,
    _remove,
    _rename,
    _swap,
    _wrap,
    _as_text,
    _another_number,
)
