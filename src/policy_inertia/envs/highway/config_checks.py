"""Checks of single settings. Each raises `InputError` with one sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, shown

Settings = Mapping[str, Any]


def number(config: Settings, key: str, low: float, high: float, kind: str = "a number") -> float:
    """Return the number at `key`, which must be from `low` to `high`."""
    value = config[key]
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not low <= value <= high:  # a NaN fails both comparisons
        raise InputError(f"{key} must be {kind} from {low:g} to {high:g}, got {shown(value)}")
    return float(value)


def whole(config: Settings, key: str, low: int, high: int) -> int:
    """Return the whole number at `key`, which must be from `low` to `high`."""
    value = number(config, key, low, high, "a whole number")
    if value != int(value):
        raise InputError(f"{key} must be a whole number, got {shown(config[key])}")
    return int(value)


def one_of(config: Settings, key: str, known: Collection[str], *others: None) -> str | None:
    """Return the text at `key`, which must be one of `known`, or of `others`."""
    value = config[key]
    if not (isinstance(value, str) and value in known) and not (value is None and others):
        names = ", ".join([*known, *map(str, others)])
        raise InputError(f"{key} must be one of {names}, got {shown(value)}")
    return value


def fixed(config: Settings, key: str, value: object, place: str = "") -> None:
    """Check that a setting has the one value that our simulator knows."""
    if not (np.isscalar(config[key]) and config[key] == value):
        name = f"{place} {key}".strip()
        raise InputError(f"{name} must be {value!r} here, got {shown(config[key])}")


def flag(config: Settings, key: str) -> bool:
    """Return the boolean at `key`."""
    if not isinstance(config[key], bool | np.bool_):
        raise InputError(f"{key} must be True or False, got {shown(config[key])}")
    return bool(config[key])


def is_list(value: object) -> bool:
    """Return whether a value is a list, a tuple or an array of one dimension."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)


def pair(config: Settings, key: str) -> tuple[float, float]:
    """Return the two numbers at `key`; the first must be the smaller one."""
    values = config[key]
    if not is_list(values) or len(values) != 2:
        raise InputError(f"{key} must be two numbers [low, high], got {shown(values)}")
    low, high = (number({key: value}, key, -1e6, 1e6) for value in values)
    if not low < high:
        raise InputError(f"{key} must be [low, high] with low below high, got {shown(values)}")
    return low, high


def count_range(config: Settings, key: str, low: int, high: int) -> tuple[int, int]:
    """Return the least and the greatest count at `key`: one whole number or [least, most]."""
    value = config[key]
    ends = list(value) if is_list(value) else [value, value]
    if len(ends) != 2:
        raise InputError(f"{key} must be a number or [least, most], got {shown(value)}")
    least, most = (whole({key: end}, key, low, high) for end in ends)
    if least > most:
        raise InputError(f"{key} must be [least, most], got {shown(value)}")
    return least, most


def reward_range(worst: float, best: float) -> None:
    """Check that rewards can be mapped from [worst, best] to [0, 1]."""
    if not worst < best:
        raise InputError(
            f"rewards can be normalised only if the best ({best:g}) is above the worst ({worst:g})"
        )
