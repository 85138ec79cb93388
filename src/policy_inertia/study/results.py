"""The results of a study, as the analysis and the report read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Levels = dict[float, list[dict[str, Any]]]
"""Figures of an extra evaluation: by level, then one entry for each seed."""


@dataclass(frozen=True)
class LineResults:
    """The finished runs of one line: a method with its settings on a task.

    `folders`, `curves` and `results` have one entry for each seed, and so has every level of
    the extra evaluations, from `hysteresis` on. A policy that cannot keep a budget has an entry
    with the reason under "unreachable".
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
    hysteresis: Levels
    budgets: Levels = field(default_factory=dict)
    core_budgets: Levels = field(default_factory=dict)
    limits: Levels = field(default_factory=dict)
    tuned_limits: Levels = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentResults:
    """The results of one experiment; an ablation also draws the mean inertia."""

    name: str
    title: str
    about: str
    ablation: bool
    lines: list[LineResults]

    @property
    def tasks(self) -> list[str]:
        """The experiment's tasks, in its order."""
        return list(dict.fromkeys(x.task for x in self.lines))

    def of_task(self, task: str) -> list[LineResults]:
        """Return the lines of one task that have a finished run."""
        return [x for x in self.lines if x.task == task and x.seeds]


@dataclass(frozen=True)
class Results:
    """The results of a whole study.

    `command` is the command that ran it, and `failed` lists runs that failed, with their errors.
    """

    title: str
    about: str
    command: str
    versions: dict[str, str]
    folder: Path
    experiments: list[ExperimentResults]
    failed: list[tuple[str, str]]
