"""A study as data: which methods, on which tasks, with which settings and seeds.

Nothing runs here. A study has experiments, an experiment has lines, and a line is one method with
its settings on one task. Every seed of a line is a run. Two lines that need the same run share it.
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
from typing import Any, Protocol

from policy_inertia.errors import InputError, nearest
from policy_inertia.methods import DISCRETE
from policy_inertia.metrics.estimates import Rule
from policy_inertia.run_settings import RunConfig, merge, settings

MOST_SEEDS = 10_000
SCALED = ("steps", "eval_every", "eval_episodes", "final_episodes", "learning_starts")
# The schedule does not change what a run is, so it is not part of the folder's name.
SCHEDULE = ("seed", *SCALED, "envs", "checkpoint_seconds")


@dataclass(frozen=True)
class Extra:
    """An extra evaluation of a trained policy at several levels.

    A level is a threshold of the hysteresis filter, or a budget: an oscillation ratio that the
    policy keeps by its price (a dial), by its rate (a method that plans with limits), by the filter
    (every other policy), or by the limit with the best return. A policy that holds its actions by
    itself keeps a budget as it is, or not at all. Of Box actions, a budget is an action
    fluctuation, and the filter is the best one of all.
    """

    budget: bool
    core: bool = False  # evaluate the policy's core without its controller
    limits: bool = False  # keep the budget by a limit on switching
    tuned: bool = False  # with the best price or threshold inside the limit


EXTRAS = {
    "hysteresis": Extra(budget=False),
    "budgets": Extra(budget=True),
    "core_budgets": Extra(budget=True, core=True),
    "limits": Extra(budget=True, limits=True),
    "tuned_limits": Extra(budget=True, limits=True, tuned=True),
}
"""Every extra evaluation, by the name of its file and of its field in `Run`."""


@dataclass(frozen=True)
class Task:
    """An env and the name that figures show for it."""

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
        """Return the run of one seed.

        The task's settings override the study's (`common`), and the line's override both.
        """
        return settings(self.method, self.task.env, **self._changes(common), seed=seed)

    def preset(self, common: Mapping[str, Any]) -> RunConfig:
        """Return the run that nobody changed: the preset of the line."""
        chosen = {k: v for k, v in self._changes(common).items() if k == "preset"}
        return settings(self.method, self.task.env, **chosen)

    def _changes(self, common: Mapping[str, Any]) -> dict[str, Any]:
        return merge(merge(dict(common), self.task.settings), self.settings)


@dataclass(frozen=True)
class Experiment:
    """The lines that one figure shows."""

    name: str
    title: str
    lines: tuple[Line, ...]
    about: str = ""
    ablation: bool = False
    hysteresis: tuple[float, ...] = ()  # thresholds of the filter to evaluate
    budgets: tuple[float, ...] = ()  # oscillation ratios (Box: fluctuations) to hold policies to
    limits: tuple[float, ...] = ()  # oscillation ratios to reach by limits on switching
    on_request: bool = False  # run only if `--only` names it


@dataclass(frozen=True)
class Study:
    """Experiments that share their seeds and their schedule.

    `shared` names other studies whose records are read too: a run that both need is trained once.
    `limits_by` is what must be within a budget when a limit is chosen for it; with the mean, as in
    the first studies of limits, the thresholds inside a limit are theirs too.
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    settings: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    shared: tuple[str, ...] = ()
    limits_by: Rule = "upper bound"

    def __post_init__(self) -> None:
        seeds: tuple[Any, ...] = self.seeds  # a TOML file may hold anything
        if not seeds or any(not isinstance(s, int) or s < 0 for s in seeds):
            raise InputError(f"seeds is {list(self.seeds)}: give different whole numbers from 0 on")
        if len(set(self.seeds)) < len(self.seeds):
            twice = next(s for s in self.seeds if self.seeds.count(s) > 1)
            raise InputError(f"seed {twice} is given twice: give every seed once")
        for names, kind in (
            ([e.name for e in self.experiments], "experiments"),
            *(([f"{x.task.name}: {x.label}" for x in e.lines], "lines") for e in self.experiments),
        ):
            if not names:
                raise InputError(f"the study '{self.name}' has no {kind}: add at least one")
            if len(set(names)) < len(names):
                raise InputError(f"two {kind} of '{self.name}' have the same name: rename one")

    @classmethod
    def of_methods(
        cls,
        methods: Sequence[str],
        env: str,
        seeds: int,
        hysteresis: Sequence[float] = (),
        overrides: Mapping[str, dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Study:
        """Return the smallest study: several methods side by side on one env.

        Args:
            methods: names of methods; a name that occurs twice counts once.
            env: Gymnasium id of the env.
            seeds: number of seeds; they start at 0.
            hysteresis: thresholds of the filter to evaluate around every policy.
            overrides: settings of single methods, by the method's name.
            settings: settings of every run.
        """
        if not methods:
            raise InputError("no method is given: name one or more, such as dqn sac nsac")
        if not isinstance(env, str):
            raise InputError(
                "env is a function: a comparison trains in other processes and needs an id, so "
                "register the env with Gymnasium and give its id (package:Id)"
            )
        task = Task(env, env)
        own = overrides or {}
        lines = tuple(Line(m, m, task, own.get(m, {})) for m in dict.fromkeys(methods))
        experiment = Experiment("comparison", env, lines, hysteresis=tuple(hysteresis))
        title = f"{', '.join(x.label for x in lines)} on {env}"
        return cls("comparison", title, (experiment,), first_seeds(seeds), dict(settings or {}))

    def scaled(self, factor: float) -> Study:
        """Return the study with its whole schedule shortened by one factor."""
        if not 0 < factor <= 1 or math.isnan(factor):
            raise InputError(f"scale is {factor}: give a factor above 0 and up to 1, such as 0.01")
        if factor == 1:
            return self
        config = self.experiments[0].lines[0].config(self.settings, 0).to_dict()
        common = {k: max(1, round(config[k] * factor)) for k in SCALED}
        experiments = tuple(
            dataclasses.replace(e, lines=tuple(_scaled_line(x, factor) for x in e.lines))
            for e in self.experiments
        )
        return dataclasses.replace(
            self, experiments=experiments, settings={**self.settings, **common}
        )

    def with_seeds(self, number: int) -> Study:
        """Return the study with its first `number` seeds; more seeds follow its highest one."""
        more = range(max(self.seeds) + 1, max(self.seeds) + 1 + number)
        return dataclasses.replace(self, seeds=(*self.seeds, *more)[: max(number, 0)])

    def only(self, names: Sequence[str]) -> Study:
        """Return the study with only these experiments.

        If `names` is empty, all but those that run on request only.
        """
        known = [e.name for e in self.experiments]
        for name in names:
            if name not in known:
                raise InputError(f"'{self.name}' has no experiment '{name}'{nearest(name, known)}")
        names = names or [e.name for e in self.experiments if not e.on_request]
        return dataclasses.replace(
            self, experiments=tuple(e for e in self.experiments if e.name in names)
        )

    def lines(self) -> Iterator[tuple[Experiment, Line]]:
        """Iterate over all lines, each with its experiment."""
        for experiment in self.experiments:
            for line in experiment.lines:
                yield experiment, line

    def run(self, folder: Path, experiment: Experiment, line: Line, seed: int) -> Run:
        """Return the run of one line and seed, with its folder inside `folder`."""
        config = line.config(self.settings, seed)
        defaults = line.preset(self.settings)
        task = _folder_name(line.task.env.split("/")[-1], _changes({}, {"": config.env_kwargs}))
        variant = _folder_name(
            line.method, _changes(defaults.to_dict(), config.to_dict(), "env_kwargs")
        )
        path = folder / "runs" / task / variant / f"seed-{seed}"
        label = f"{line.task.name}, {line.label}, seed {seed}"
        # a policy that holds its actions by itself leaves hysteresis nothing to filter
        if config.repeats != (1,) and config.actions == DISCRETE:
            return Run(label, config, path, budgets=experiment.budgets)
        traits = config.config.traits
        limits = () if traits.one_budget else experiment.limits  # it was trained for one already
        return Run(
            label,
            config,
            path,
            experiment.hysteresis,
            experiment.budgets,
            core_budgets=experiment.budgets if traits.adjustable else (),
            limits=limits,
            tuned_limits=limits,
            limits_by=self.limits_by,
        )

    def runs(self, folder: Path) -> list[Run]:
        """Return every run once, seed by seed: a stopped study has equally many of each line."""
        runs: dict[Path, Run] = {}
        for seed in self.seeds:
            for experiment, line in self.lines():
                run = self.run(folder, experiment, line, seed)
                same = runs.setdefault(run.path, run)
                if same.config != run.config:
                    raise InputError(
                        f"'{self.name}' asks for the same run ({run.path}) with two schedules: "
                        "give both the same steps and evaluations"
                    )
                for name in EXTRAS:
                    levels = {*getattr(same, name), *getattr(run, name)}
                    setattr(same, name, tuple(sorted(levels)))
        return list(runs.values())


class Tracked(Protocol):
    """What the scheduler and the progress bars know of a run."""

    path: Path
    step: int
    figures: dict[str, Any]  # of the last evaluation
    tries: int
    seconds: float  # over all tries
    error: str | None
    traceback: str
    state: str  # waiting, then running, done or failed

    @property
    def label(self) -> str: ...

    @property
    def steps(self) -> int:
        """Env steps in all."""


@dataclass
class Run:
    """One run of a study and its progress."""

    label: str
    config: RunConfig
    path: Path
    hysteresis: tuple[float, ...] = ()
    budgets: tuple[float, ...] = ()
    core_budgets: tuple[float, ...] = ()
    limits: tuple[float, ...] = ()
    tuned_limits: tuple[float, ...] = ()
    limits_by: Rule = "upper bound"
    step: int = 0
    figures: dict[str, Any] = field(default_factory=dict)  # of the last evaluation
    tries: int = 0
    seconds: float = 0.0  # over all tries
    error: str | None = None
    traceback: str = ""
    state: str = "waiting"  # then running, done or failed

    @property
    def steps(self) -> int:
        return self.config.steps


def first_seeds(n: int) -> tuple[int, ...]:
    """Return the seeds 0 to n - 1."""
    if not 1 <= n <= MOST_SEEDS:
        raise InputError(f"seeds is {n}: give 1 to {MOST_SEEDS:,}, better five or more")
    return tuple(range(n))


def _scaled_line(line: Line, factor: float) -> Line:
    task = dataclasses.replace(line.task, settings=_scaled(line.task.settings, factor))
    return dataclasses.replace(line, task=task, settings=_scaled(line.settings, factor))


def _scaled(values: dict[str, Any], factor: float) -> dict[str, Any]:
    return {k: max(1, round(v * factor)) if k in SCALED else v for k, v in values.items()}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], *without: str) -> list[str]:
    """List where `new` differs from `old`, as 'name=value'; the schedule is left out."""
    changes: list[str] = []
    for name, value in new.items():
        if name in (*SCHEDULE, *without) or value == old.get(name):
            continue
        if isinstance(value, dict):
            inner = _changes(old.get(name) or {}, value)
            hidden = name in ("", "config")  # group names that tell a reader nothing
            changes += inner if hidden else [f"{name}.{text}" for text in inner]
        else:
            changes.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return changes


def _folder_name(start: str, changes: Sequence[str]) -> str:
    """Join the parts to a folder's name; a long name ends in a digest of itself."""
    text = re.sub(r"[^\w.,=+-]+", "_", ",".join([start, *changes]))
    if len(text) > 80:
        text = f"{text[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return text
