"""A study's folder: its description, its runs, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import claim
from policy_inertia.machine import versions
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.metrics.measures import Figures, refuse_incomplete
from policy_inertia.run_settings import RunConfig
from policy_inertia.schema import read_as
from policy_inertia.storage import FORMAT, read_json, write_json
from policy_inertia.study import results
from policy_inertia.study.plan import EXTRAS, Experiment, Run, Study
from policy_inertia.study.results import ExperimentResults, LineResults, Results
from policy_inertia.training import run_folder
from policy_inertia.training.loggers import read_metrics

Levels = dict[str, dict[str, Figures | float | str | None]]
"""The figures of an extra evaluation: by level, then by the way to act; or why there are none."""


@dataclass(frozen=True)
class RunResult:
    """The contents of a run's `result.json`."""

    step: int
    sampled: Figures
    greedy: Figures
    core: Figures | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        for name in ("sampled", "greedy", "core"):
            figures = getattr(self, name)
            if figures is not None:
                refuse_incomplete(figures, name)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON, without what the run does not have."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class ExtraFigures:
    """The contents of a run's `hysteresis.json`, or of another extra evaluation."""

    step: int
    levels: Levels

    def __post_init__(self) -> None:
        for level, figures in self.levels.items():
            for name in () if "unreachable" in figures else ("sampled", "greedy"):
                refuse_incomplete(read_as(Figures, figures.get(name, {})), f"{level}.{name}")


@dataclass(frozen=True)
class LineDescription:
    """A line in `study.json`: its settings, and the folders of its runs by seed."""

    label: str
    task: str
    config: dict[str, Any]
    runs: dict[str, str]
    hysteresis: list[float] = field(default_factory=list)
    budgets: list[float] = field(default_factory=list)
    core_budgets: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    tuned_limits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        _complete(self.config)  # raises for a bad setting
        for seed, place in self.runs.items():
            if not seed.isdecimal() or Path(place).is_absolute() or ".." in Path(place).parts:
                raise InputError(
                    f"the run of seed {seed[:20]} is {place[:80]!r}: it must be a folder inside "
                    "the study's, by the number of its seed"
                )


@dataclass(frozen=True)
class ExperimentDescription:
    """An experiment in `study.json`."""

    name: str
    title: str
    about: str
    ablation: bool
    lines: list[LineDescription]


@dataclass(frozen=True)
class StudyDescription:
    """The contents of `study.json`."""

    name: str
    title: str
    about: str
    command: str
    versions: dict[str, str]
    experiments: list[ExperimentDescription]


@dataclass(frozen=True)
class FailedRun:
    """A run that failed twice, in `failed.json`."""

    run: str
    error: str
    traceback: str = ""


@dataclass(frozen=True)
class Failures:
    """The contents of `failed.json`."""

    failed: list[FailedRun]


class StudyFolder:
    """One study on disk.

    study.json      the experiments, their lines, and the command
    runs/           one run folder for each task, method and seed
    failed.json     the runs that failed twice, with their errors
    """

    def __init__(self, path: Path, study: Study, command: str = "") -> None:
        self.path = path
        file = path / "study.json"
        old = read_description(path) if file.exists() else None
        if old and old.name != study.name:
            raise InputError(
                f"{path} holds the study '{old.name}', not '{study.name}': choose another --out"
            )
        self._lock = claim(path, file.name, "study")
        experiments = {e.name: asdict(e) for e in old.experiments} if old else {}
        experiments |= {e.name: _describe(study, e, path) for e in study.experiments}
        about: dict[str, Any] = {"title": study.title, "about": study.about, "command": command}
        about |= {"versions": versions(), "experiments": list(experiments.values())}
        write_json(file, {"format": FORMAT, "name": study.name, **about})

    def write_failures(self, runs: Sequence[Run]) -> None:
        """Write the errors of the runs that failed."""
        failed = [
            {"run": r.label, "error": r.error, "traceback": r.traceback}
            for r in runs
            if r.state == "failed"
        ]
        write_json(self.path / "failed.json", {"format": FORMAT, "failed": failed})

    def close(self) -> None:
        self._lock.close()


def collect(path: Path, trust: bool = False) -> Results:
    """Read the results of a study: its finished runs, line by line.

    Args:
        path: the study's folder.
        trust: whether study.json may name envs whose modules are imported; see `origin`.

    Raises:
        InputError: the folder holds no study, or no run of it is finished.
    """
    about = read_description(path, trust)
    experiments = []
    for e in about.experiments:
        lines = [_read_line(path, line) for line in e.lines]
        lines = [x for x in lines if x.seeds]
        experiments.append(ExperimentResults(e.name, e.title, e.about, e.ablation, lines))
    if not any(e.lines for e in experiments):
        raise InputError(f"{path} has no finished run yet: start the study, or go on with it")
    file = path / "failed.json"
    failed = read_json(file, Failures, "a study's failures").failed if file.exists() else []
    return Results(
        about.title,
        about.about,
        about.command,
        _run_versions(experiments),
        path,
        experiments,
        [(f.run, f.error) for f in failed],
    )


def read_result(run: Path) -> RunResult:
    """Read the final evaluation of a run."""
    return read_json(run / "result.json", RunResult, "a run's result")


def finished(run: Path, steps: int) -> bool:
    """Return whether the run in this folder was trained for `steps` and evaluated."""
    return (run / "result.json").exists() and read_result(run).step >= steps


def read_extra(run: Path, steps: int, name: str) -> Levels:
    """Return the figures of an extra evaluation by level, such as "0.1".

    The figures of a policy that was trained for longer since are left out.
    """
    file = run / f"{name}.json"
    if not file.exists():
        return {}
    extra = read_json(file, ExtraFigures, f"a run's {name}")
    for level, figures in extra.levels.items():
        known = "unreachable" in figures or not EXTRAS[name].budget
        if not known and not isinstance(figures.get("calibrated_return"), int | float):
            raise InputError(f"{file} cannot be used: {level} has no calibrated_return")
    return extra.levels if extra.step == steps else {}


def write_extra(run: Path, steps: int, name: str, levels: dict[str, Any]) -> None:
    """Write the figures that `read_extra` returns."""
    write_json(run / f"{name}.json", {"format": FORMAT, "step": steps, "levels": levels})


def _describe(study: Study, experiment: Experiment, path: Path) -> dict[str, Any]:
    lines = []
    for line in experiment.lines:
        config = line.config(study.settings, 0).to_dict()
        runs = {s: study.run(path, experiment, line, s) for s in study.seeds}
        lines.append(
            {
                "label": line.label,
                "task": line.task.name,
                "config": {k: v for k, v in config.items() if k != "seed"},
                **{name: getattr(runs[study.seeds[0]], name) for name in EXTRAS},
                "runs": {str(s): str(r.path.relative_to(path)) for s, r in runs.items()},
            }
        )
    about = {"title": experiment.title, "about": experiment.about, "ablation": experiment.ablation}
    return {"name": experiment.name, **about, "lines": lines}


def read_description(path: Path, trust: bool = False) -> StudyDescription:
    """Read the `study.json` of a study's folder."""
    file = path / "study.json"
    if not file.exists():
        raise InputError(f"{path} holds no study (no study.json): give the folder of one")
    trusting = f"policy_inertia.study.folder.collect(Path({str(path)!r}), trust=True)"
    return read_json(
        file, StudyDescription, "a study's description", trust=trust, trusting=trusting
    )


def _read_line(path: Path, line: LineDescription) -> LineResults:
    config = _complete(line.config)
    runs = {
        int(seed): path / place
        for seed, place in line.runs.items()
        if finished(path / place, config["steps"])
    }
    folders = list(runs.values())
    return LineResults(
        line.label,
        line.task,
        config["method"],
        config["env"],
        config,
        list(runs),
        folders,
        [read_metrics(folder) for folder in folders],
        [read_result(folder).to_dict() for folder in folders],
        *(_read_levels(line, folders, name) for name in EXTRAS),
    )


def _complete(config: dict[str, Any]) -> dict[str, Any]:
    """A line's settings, with the defaults of those that the file does not have."""
    values = RunConfig.from_dict({**config, "seed": 0}).to_dict()
    del values["seed"]
    return values


def _read_levels(line: LineDescription, folders: list[Path], name: str) -> results.Levels:
    """Return an extra's figures at every level that all seeds have."""
    runs = [read_extra(folder, _complete(line.config)["steps"], name) for folder in folders]
    return {
        level: [levels[repr(level)] for levels in runs]
        for level in getattr(line, name)
        if all(repr(level) in levels for levels in runs)
    }


def _run_versions(experiments: Sequence[ExperimentResults]) -> dict[str, str]:
    """Return the versions that the runs were made with; several of one package are listed."""
    known: dict[str, set[str]] = {}
    for folder in dict.fromkeys(f for e in experiments for x in e.lines for f in x.folders):
        for name, version in run_folder.read_description(folder).versions.items():
            known.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(each)) for name, each in known.items()}
