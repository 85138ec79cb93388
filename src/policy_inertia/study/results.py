"""What a study found, as figures, statistics and the report read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Series:
    """One line of a figure: a method with its settings on a task, over seeds (finished runs only).

    `curves`, `results` and `folders` have an entry for each seed, and so has each threshold of
    `hysteresis`, where the filter was asked for, and each of `budgets` (and of a dial's core,
    `core_budgets`), which may be unreachable.
    """

    label: str
    task: str
    method: str
    env: str
    config: dict[str, Any]
    seeds: list[int]
    folders: list[Path]
    curves: list[list[dict[str, Any]]]
    results: list[dict[str, Any]]
    hysteresis: dict[float, list[dict[str, Any]]]
    budgets: dict[float, list[dict[str, Any]]] = field(default_factory=dict)
    core_budgets: dict[float, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """What one figure shows; an ablation has the mean inertia as a panel of its own."""

    name: str
    title: str
    about: str
    ablation: bool
    series: list[Series]


@dataclass(frozen=True)
class Results:
    """All of a study: `failed` names runs with their errors, `command` makes it again."""

    title: str
    about: str
    command: str
    versions: dict[str, str]
    folder: Path
    experiments: list[Experiment]
    failed: list[tuple[str, str]]
