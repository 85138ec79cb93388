"""A study written by hand, in TOML; docs/studies.md explains the format."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.methods import find_method
from policy_inertia.study.plan import SCALED, Experiment, Line, Study, Task
from policy_inertia.study.run.job import ASKED

EXPERIMENT_KEYS = ("name", "title", "about", "methods", "tasks", "ablation", *ASKED)
STUDY_KEYS = ("name", "title", "about", "seeds", "settings", "methods", "tasks", "experiments",
              *ASKED, *SCALED, "envs")  # fmt: skip


def load_study(path: Path) -> Study:
    """Read a study from its file."""
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
    """A study from what its TOML file says."""
    _refuse_unknown(values, STUDY_KEYS, "a study")
    methods = _named(values.get("methods"), "methods", "method")
    for label, row in methods.items():
        find_method(row.get("method", label))
    tasks = _named(values.get("tasks"), "tasks", "env")
    common = dict(values.get("settings", {}))
    common |= {k: values[k] for k in (*SCALED, "envs") if k in values}
    seeds = values.get("seeds", 5)
    seeds = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    everything = {"name": name, "title": values.get("title", name)}
    experiments = []
    for given in values.get("experiments", [everything]):
        _refuse_unknown(given, EXPERIMENT_KEYS, "an experiment")
        if "name" not in given:
            raise InputError(f'the experiment {given} has no name: add name = "..." to it')
        lines = tuple(
            _line(label, methods[label], Task(task, *_env(task, tasks[task])))
            for task in _picked(given, "tasks", tasks)
            for label in _picked(given, "methods", methods)
        )
        experiments.append(
            Experiment(
                given["name"],
                given.get("title", given["name"]),
                lines,
                given.get("about", ""),
                bool(given.get("ablation", False)),
                *(tuple(given.get(k, values.get(k, ()))) for k in ASKED),
            )
        )
    study = Study(
        values.get("name", name),
        values.get("title", name),
        tuple(experiments),
        seeds,
        common,
        values.get("about", ""),
    )
    for _, line in study.lines():
        line.config(study.settings, study.seeds[0])  # a bad setting is said now
    return study


def _named(given: Any, key: str, what: str) -> dict[str, dict[str, Any]]:
    """['dqn', 'sac'] or {NSAC = {method = 'nsac', mu0 = 0.1}} as the latter."""
    if isinstance(given, list) and given and all(isinstance(x, str) for x in given):
        return {x: {what: x} for x in given}
    if isinstance(given, dict) and given and all(isinstance(x, dict) for x in given.values()):
        return given
    raise InputError(
        f'{key} is {given!r}: list names ({key} = ["..."]) or write a table for each '
        f'([{key}.NAME] with {what} = "...")'
    )


def _env(name: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row.get("env", name), {k: v for k, v in row.items() if k != "env"}


def _line(label: str, row: dict[str, Any], task: Task) -> Line:
    own = {k: v for k, v in row.items() if k != "method"}
    return Line(label, row.get("method", label), task, own)


def _picked(given: dict[str, Any], key: str, known: dict[str, Any]) -> list[str]:
    chosen = given.get(key, list(known))
    for name in chosen:
        if name not in known:
            raise InputError(
                f"the experiment '{given['name']}' names '{name}', which is not among the "
                f"{key}{nearest(name, known)}"
            )
    return list(chosen)


def _refuse_unknown(values: dict[str, Any], known: Sequence[str], what: str) -> None:
    for key in values:
        if key not in known:
            raise InputError(f"'{key}' is no key of {what}{nearest(key, known)}")
