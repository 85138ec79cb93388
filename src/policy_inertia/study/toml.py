"""Read a study from a TOML file; docs/studies.md describes the format."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.methods import find_method
from policy_inertia.schema import parse, read_as
from policy_inertia.storage import read_file
from policy_inertia.study.plan import SCALED, Experiment, Line, Study, Task, first_seeds

LARGEST = 2**20
"""Bytes of a study's file."""

Rows = dict[str, dict[str, Any]]
Named = list[str] | Rows
"""Names, or a table for each name: ["dqn"] is short for {dqn = {method = "dqn"}}."""


@dataclass(frozen=True)
class ExperimentTable:
    """The keys of an experiment in the file."""

    name: str
    title: str | None = None
    about: str = ""
    methods: list[str] | None = None
    tasks: list[str] | None = None
    ablation: bool = False
    hysteresis: list[float] | None = None
    budgets: list[float] | None = None
    limits: list[float] | None = None


@dataclass(frozen=True)
class StudyTable:
    """The keys of the file."""

    methods: Named
    tasks: Named
    name: str | None = None
    title: str | None = None
    about: str = ""
    seeds: int | list[int] = 5
    settings: dict[str, Any] = field(default_factory=dict)
    experiments: list[ExperimentTable] = field(default_factory=list)
    hysteresis: list[float] = field(default_factory=list)
    budgets: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    steps: int | None = None
    eval_every: int | None = None
    eval_episodes: int | None = None
    final_episodes: int | None = None
    learning_starts: int | None = None
    envs: int | None = None


def load_study(path: Path) -> Study:
    """Read a study from its TOML file; without a `name` it is called like the file."""
    values = parse(read_file(path, LARGEST), tomllib.loads, path, "a study in TOML")
    return study_from_dict(values, path.stem)


def study_from_dict(values: dict[str, Any], name: str) -> Study:
    """Build a study from the contents of its TOML file.

    Raises:
        InputError: a key, a method or a setting is unknown or has a bad value.
    """
    _refuse_unknown(values, StudyTable, "a study")
    for experiment in read_as(list[dict[str, Any]], values.get("experiments", []), "experiments"):
        _refuse_unknown(experiment, ExperimentTable, "an experiment")
    for key, first in (("methods", "method"), ("tasks", "env")):
        _refuse_no_rows(values.get(key), key, first)
    table = read_as(StudyTable, values)
    methods, tasks = _rows(table.methods, "method"), _rows(table.tasks, "env")
    for label, row in methods.items():
        find_method(read_as(str, row.get("method", label)))
    schedule = {k: getattr(table, k) for k in (*SCALED, "envs")}
    experiments = table.experiments or [ExperimentTable(name, table.title)]
    study = Study(
        table.name or name,
        table.title or name,
        tuple(_experiment(e, table, methods, tasks) for e in experiments),
        first_seeds(table.seeds) if isinstance(table.seeds, int) else tuple(table.seeds),
        table.settings | {k: v for k, v in schedule.items() if v is not None},
        table.about,
    )
    for _, line in study.lines():
        line.config(study.settings, study.seeds[0])  # raise for a bad setting before anything runs
    return study


def _experiment(
    given: ExperimentTable, table: StudyTable, methods: Rows, tasks: Rows
) -> Experiment:
    """Build one experiment from its table; `table` is the whole file."""
    lines = tuple(
        _line(label, methods[label], Task(task, *_env(task, tasks[task])))
        for task in _chosen(given.name, given.tasks, "tasks", tasks)
        for label in _chosen(given.name, given.methods, "methods", methods)
    )
    hysteresis = table.hysteresis if given.hysteresis is None else given.hysteresis
    budgets = table.budgets if given.budgets is None else given.budgets
    limits = table.limits if given.limits is None else given.limits
    return Experiment(
        given.name,
        given.title or given.name,
        lines,
        given.about,
        given.ablation,
        tuple(hysteresis),
        tuple(budgets),
        tuple(limits),
    )


def _refuse_no_rows(given: Any, key: str, first: str) -> None:
    """Raise unless names or tables are given."""
    names = isinstance(given, list) and all(isinstance(x, str) for x in given)
    rows = isinstance(given, dict) and all(isinstance(x, dict) for x in given.values())
    if not given or not (names or rows):
        raise InputError(
            f'{key} is {repr(given)[:80]}: list names ({key} = ["..."]) or write a table for each '
            f'([{key}.NAME] with {first} = "...")'
        )


def _rows(given: Named, first: str) -> Rows:
    """A table for each name."""
    return given if isinstance(given, dict) else {name: {first: name} for name in given}


def _env(name: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return read_as(str, row.get("env", name)), {k: v for k, v in row.items() if k != "env"}


def _line(label: str, row: dict[str, Any], task: Task) -> Line:
    own = {k: v for k, v in row.items() if k != "method"}
    return Line(label, row.get("method", label), task, own)


def _chosen(experiment: str, given: list[str] | None, key: str, known: Rows) -> list[str]:
    """Return the names that an experiment lists under `key`; all if it lists none."""
    names = list(known) if given is None else given
    for name in names:
        if name not in known:
            raise InputError(
                f"the experiment '{experiment}' names '{name}', which is not among the "
                f"{key}{nearest(name, known)}"
            )
    return names


def _refuse_unknown(values: dict[str, Any], table: type, kind: str) -> None:
    known = [key.name for key in fields(table)]
    for key in values:
        if key not in known:
            raise InputError(f"'{key}' is no key of {kind}{nearest(key, known)}")
