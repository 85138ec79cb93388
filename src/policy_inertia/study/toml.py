"""Read a study from a TOML file; docs/studies.md describes the format."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.methods import find_method
from policy_inertia.study.plan import EXPERIMENT_EXTRAS, SCALED, Experiment, Line, Study, Task

EXPERIMENT_KEYS = ("name", "title", "about", "methods", "tasks", "ablation", *EXPERIMENT_EXTRAS)
STUDY_KEYS = ("name", "title", "about", "seeds", "settings", "methods", "tasks", "experiments",
              *EXPERIMENT_EXTRAS, *SCALED, "envs")  # fmt: skip

Rows = dict[str, dict[str, Any]]


def load_study(path: Path) -> Study:
    """Read a study from its TOML file; without a `name` it is called like the file."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a study ({error}): give a TOML file") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no valid TOML: {error}") from error
    return study_from_dict(values, path.stem)


def study_from_dict(values: dict[str, Any], name: str) -> Study:
    """Build a study from the contents of its TOML file.

    Raises:
        InputError: a key, a method or a setting is unknown or has a bad value.
    """
    _refuse_unknown(values, STUDY_KEYS, "a study")
    methods = _rows(values.get("methods"), "methods", "method")
    for label, row in methods.items():
        find_method(row.get("method", label))
    tasks = _rows(values.get("tasks"), "tasks", "env")
    common = dict(values.get("settings", {}))
    common |= {k: values[k] for k in (*SCALED, "envs") if k in values}
    seeds = values.get("seeds", 5)
    everything = {"name": name, "title": values.get("title", name)}
    study = Study(
        values.get("name", name),
        values.get("title", name),
        tuple(
            _experiment(e, values, methods, tasks) for e in values.get("experiments", [everything])
        ),
        tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        common,
        values.get("about", ""),
    )
    for _, line in study.lines():
        line.config(study.settings, study.seeds[0])  # raise for a bad setting before anything runs
    return study


def _experiment(
    given: dict[str, Any], values: dict[str, Any], methods: Rows, tasks: Rows
) -> Experiment:
    """Build one experiment from its table; `values` is the whole file."""
    _refuse_unknown(given, EXPERIMENT_KEYS, "an experiment")
    if "name" not in given:
        raise InputError(f'the experiment {given} has no name: add name = "..." to it')
    lines = tuple(
        _line(label, methods[label], Task(task, *_env(task, tasks[task])))
        for task in _chosen(given, "tasks", tasks)
        for label in _chosen(given, "methods", methods)
    )
    return Experiment(
        given["name"],
        given.get("title", given["name"]),
        lines,
        given.get("about", ""),
        bool(given.get("ablation", False)),
        *(tuple(given.get(k, values.get(k, ()))) for k in EXPERIMENT_EXTRAS),
    )


def _rows(given: Any, key: str, first: str) -> Rows:
    """Read a list of names or a table of rows: ["dqn"] is short for {dqn = {method = "dqn"}}."""
    if isinstance(given, list) and given and all(isinstance(x, str) for x in given):
        return {x: {first: x} for x in given}
    if isinstance(given, dict) and given and all(isinstance(x, dict) for x in given.values()):
        return given
    raise InputError(
        f'{key} is {given!r}: list names ({key} = ["..."]) or write a table for each '
        f'([{key}.NAME] with {first} = "...")'
    )


def _env(name: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row.get("env", name), {k: v for k, v in row.items() if k != "env"}


def _line(label: str, row: dict[str, Any], task: Task) -> Line:
    own = {k: v for k, v in row.items() if k != "method"}
    return Line(label, row.get("method", label), task, own)


def _chosen(given: dict[str, Any], key: str, known: Rows) -> list[str]:
    """Return the names that an experiment lists under `key`; all if it lists none."""
    names = given.get(key, list(known))
    for name in names:
        if name not in known:
            raise InputError(
                f"the experiment '{given['name']}' names '{name}', which is not among the "
                f"{key}{nearest(name, known)}"
            )
    return list(names)


def _refuse_unknown(values: dict[str, Any], known: Sequence[str], kind: str) -> None:
    for key in values:
        if key not in known:
            raise InputError(f"'{key}' is no key of {kind}{nearest(key, known)}")
