"""A study as data: which methods, on which tasks, with which settings and seeds.

Nothing is run here. A study is a few experiments, each of which is a figure of lines; a line is a
method with its settings on a task, and every seed of a line is a run. Lines of two experiments that
ask for the same run share it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.settings import RunConfig, merge, settings
from policy_inertia.study.run.job import AFTERWARDS

SCALED = ("steps", "eval_every", "eval_episodes", "final_episodes", "learning_starts")
# how long and how often: not what the run is, so not in its folder's name
SCHEDULE = ("seed", *SCALED, "envs", "checkpoint_seconds")


@dataclass(frozen=True)
class Task:
    """An env under the name that figures call it by."""

    name: str
    env: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One line of a figure: a method with its settings, on a task."""

    label: str
    method: str
    task: Task
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, common: Mapping[str, Any], seed: int) -> RunConfig:
        """The run of one seed: the study's settings, then the task's, then the line's own."""
        changes = merge(merge(dict(common), self.task.settings), self.settings)
        return settings(self.method, self.task.env, **changes, seed=seed)


@dataclass(frozen=True)
class Experiment:
    """What one figure shows."""

    name: str
    title: str
    lines: tuple[Line, ...]
    about: str = ""
    ablation: bool = False
    hysteresis: tuple[float, ...] = ()  # thresholds of the filter to put around its policies
    budgets: tuple[float, ...] = ()  # of oscillation, to hold its policies to


@dataclass(frozen=True)
class Study:
    """Experiments that share their seeds and schedule."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    settings: dict[str, Any] = field(default_factory=dict)
    about: str = ""

    def __post_init__(self) -> None:
        if not self.seeds or any(not isinstance(s, int) or s < 0 for s in self.seeds):
            raise InputError(f"seeds is {list(self.seeds)}: give different whole numbers from 0 on")
        if len(set(self.seeds)) < len(self.seeds):
            twice = next(s for s in self.seeds if self.seeds.count(s) > 1)
            raise InputError(f"seed {twice} is given twice: a run counts once, so leave one out")
        for names, what in (
            ([e.name for e in self.experiments], "experiments"),
            *(([f"{x.task.name}: {x.label}" for x in e.lines], "lines") for e in self.experiments),
        ):
            if not names:
                raise InputError(f"the study '{self.name}' has no {what}: name one at least")
            if len(set(names)) < len(names):
                raise InputError(f"two {what} of '{self.name}' have the same name: rename one")

    def scaled(self, factor: float) -> Study:
        """The same study with everything shortened by one factor."""
        if not 0 < factor <= 1 or math.isnan(factor):
            raise InputError(f"scale is {factor}: give a factor above 0 and up to 1, such as 0.01")
        if factor == 1:
            return self
        config = self.experiments[0].lines[0].config(self.settings, 0).to_dict()
        common = {k: max(1, round(config[k] * factor)) for k in SCALED}
        lines = [
            dataclasses.replace(
                e,
                lines=tuple(
                    dataclasses.replace(
                        x,
                        task=dataclasses.replace(
                            x.task, settings=_shorter(x.task.settings, factor)
                        ),
                        settings=_shorter(x.settings, factor),
                    )
                    for x in e.lines
                ),
            )
            for e in self.experiments
        ]
        return dataclasses.replace(
            self, experiments=tuple(lines), settings={**self.settings, **common}
        )

    def only(self, names: Sequence[str]) -> Study:
        """The study with some of its experiments."""
        known = [e.name for e in self.experiments]
        for name in names:
            if name not in known:
                raise InputError(f"'{self.name}' has no experiment '{name}'{nearest(name, known)}")
        if not names:
            return self
        return dataclasses.replace(
            self, experiments=tuple(e for e in self.experiments if e.name in names)
        )

    def runs(self, folder: Path) -> list[Run]:
        """Every run once, seed by seed, so that a stopped study has all lines equally far."""
        found: dict[Path, Run] = {}
        for seed in self.seeds:
            for experiment, line in self.lines():
                run = self.run(folder, experiment, line, seed)
                same = found.setdefault(run.path, run)
                if same.config != run.config:
                    raise InputError(
                        f"'{self.name}' asks for the same run ({run.path}) with two schedules: "
                        "give both the same steps and evaluations"
                    )
                for kind in AFTERWARDS:
                    levels = {*getattr(same, kind), *getattr(run, kind)}
                    setattr(same, kind, tuple(sorted(levels)))
        return list(found.values())

    def lines(self) -> Iterator[tuple[Experiment, Line]]:
        for experiment in self.experiments:
            for line in experiment.lines:
                yield experiment, line

    def run(self, folder: Path, experiment: Experiment, line: Line, seed: int) -> Run:
        config = line.config(self.settings, seed)
        plain = settings(line.method, line.task.env)
        task = _slug(line.task.env.split("/")[-1], _changes({}, {"": config.env_kwargs}))
        variant = _slug(line.method, _changes(plain.to_dict(), config.to_dict(), "env_kwargs"))
        path = folder / "runs" / task / variant / f"seed-{seed}"
        label = f"{line.task.name}, {line.label}, seed {seed}"
        free = config.repeats == (1,)  # the others hold their actions by themselves
        if not free:
            return Run(label, config, path)
        core = experiment.budgets if config.config.traits.dial else ()
        return Run(label, config, path, experiment.hysteresis, experiment.budgets, core)


@dataclass
class Run:
    """One run of a study, and how far it is."""

    label: str
    config: RunConfig
    path: Path
    hysteresis: tuple[float, ...] = ()
    budgets: tuple[float, ...] = ()
    core_budgets: tuple[float, ...] = ()  # the same, for a dial's core by itself
    step: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    seconds: float = 0.0  # that it took, over all tries
    error: str | None = None
    traceback: str = ""
    state: str = "waiting"  # then running, done or failed


def _shorter(values: dict[str, Any], factor: float) -> dict[str, Any]:
    return {k: max(1, round(v * factor)) if k in SCALED else v for k, v in values.items()}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], *without: str) -> list[str]:
    """What `new` says otherwise than `old`, as 'name=value', without the schedule."""
    found = []
    for name, value in new.items():
        if name in (*SCHEDULE, *without) or value == old.get(name):
            continue
        if isinstance(value, dict):
            inner = _changes(old.get(name) or {}, value)
            hide = name in ("", "config")  # these groups say nothing to a reader
            found += inner if hide else [f"{name}.{text}" for text in inner]
        else:
            found.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return found


def _slug(*parts: Any) -> str:
    """A name for a folder: what differs, or a digest of it where that is long."""
    first, changes = parts
    text = ",".join([first, *changes])
    text = re.sub(r"[^\w.,=+-]+", "_", text)
    if len(text) > 80:
        text = f"{text[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return text
