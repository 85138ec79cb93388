"""A study's folder: what was asked for, the runs, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.machine import versions
from policy_inertia.storage import FORMAT, claim, read_json, write_json
from policy_inertia.study.plan import Run, Study
from policy_inertia.study.results import Experiment, Results, Series
from policy_inertia.study.run import job as execution
from policy_inertia.training.loggers import read_metrics


class StudyFolder:
    """One study on disk.

    study.json      what was asked for, experiment by experiment, and the command
    runs/           a run folder for each task, method and seed
    failed.json     runs that failed twice, with their errors
    """

    def __init__(self, path: Path, study: Study, command: str = "") -> None:
        self.path = path
        file = path / "study.json"
        old = _description(path) if file.exists() else {}
        if old and old["name"] != study.name:
            raise InputError(
                f"{path} holds the study '{old['name']}', not '{study.name}': choose another --out"
            )
        self._lock = claim(path, file.name, "study")
        experiments = {e["name"]: e for e in old.get("experiments", [])}
        experiments |= {e.name: _described(study, e, path) for e in study.experiments}
        about: dict[str, Any] = {"title": study.title, "about": study.about, "command": command}
        about |= {"versions": versions(), "experiments": list(experiments.values())}
        write_json(file, {"format": FORMAT, "name": study.name, **about})

    def tell(self, runs: Sequence[Run]) -> None:
        """Keep the errors of what failed."""
        failed = [
            {"run": r.label, "error": r.error, "traceback": r.traceback}
            for r in runs
            if r.state == "failed"
        ]
        write_json(self.path / "failed.json", {"format": FORMAT, "failed": failed})

    def close(self) -> None:
        self._lock.close()


def _described(study: Study, experiment: Any, path: Path) -> dict[str, Any]:
    lines = []
    for line in experiment.lines:
        config = line.config(study.settings, 0).to_dict()
        runs = {s: study.run(path, experiment, line, s) for s in study.seeds}
        lines.append(
            {
                "label": line.label,
                "task": line.task.name,
                "config": {k: v for k, v in config.items() if k != "seed"},
                **{k: getattr(runs[study.seeds[0]], k) for k in execution.AFTERWARDS},
                "runs": {str(s): str(r.path.relative_to(path)) for s, r in runs.items()},
            }
        )
    about = {"title": experiment.title, "about": experiment.about, "ablation": experiment.ablation}
    return {"name": experiment.name, **about, "lines": lines}


def collect(path: Path) -> Results:
    """What a study has found so far: its finished runs, line by line."""
    about = _description(path)
    known: dict[str, set[str]] = {}
    experiments = []
    for e in about["experiments"]:
        series = [_series(path, line, known) for line in e["lines"]]
        series = [s for s in series if s.seeds]
        experiments.append(Experiment(e["name"], e["title"], e["about"], e["ablation"], series))
    if not any(e.series for e in experiments):
        raise InputError(f"{path} has no finished run yet: start the study, or go on with it")
    file = path / "failed.json"
    failed = read_json(file, "a study's failures")["failed"] if file.exists() else []
    return Results(
        about["title"],
        about["about"],
        about["command"],
        {name: ", ".join(sorted(found)) for name, found in known.items()},
        path,
        experiments,
        [(f["run"], f["error"]) for f in failed],
    )


def _series(path: Path, line: dict[str, Any], known: dict[str, set[str]]) -> Series:
    config = line["config"]
    runs = {
        int(seed): path / place
        for seed, place in line["runs"].items()
        if execution.finished(path / place, config["steps"])
    }
    for folder in runs.values():
        for name, version in read_json(folder / "run.json", "a run's description")[
            "versions"
        ].items():
            known.setdefault(name, set()).add(version)
    return Series(
        line["label"],
        line["task"],
        config["method"],
        config["env"],
        config,
        list(runs),
        list(runs.values()),
        [read_metrics(folder) for folder in runs.values()],
        [read_json(folder / "result.json", "a run's result") for folder in runs.values()],
        *(_levels(line, list(runs.values()), kind) for kind in execution.AFTERWARDS),
    )


def _levels(
    line: dict[str, Any], folders: list[Path], kind: str
) -> dict[float, list[dict[str, Any]]]:
    """What was measured at each level, for each seed; levels that a seed lacks are left out."""
    steps = line["config"]["steps"]
    found = [execution.read_afterwards(folder, steps, kind) for folder in folders]
    return {
        level: [levels[repr(level)] for levels in found]
        for level in line.get(kind, ())
        if all(repr(level) in levels for levels in found)
    }


def _description(path: Path) -> dict[str, Any]:
    file = path / "study.json"
    if not file.exists():
        raise InputError(f"{path} holds no study (no study.json): give the folder of one")
    about = read_json(file, "a study's description")
    for key in ("name", "experiments"):
        if key not in about:
            raise InputError(f"{file} does not describe a study ('{key}' is missing): restore it")
    return about
