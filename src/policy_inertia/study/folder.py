"""A study's folder: its description, its runs, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.machine import versions
from policy_inertia.storage import FORMAT, claim, read_json, write_json
from policy_inertia.study.plan import EXTRAS, Experiment, Run, Study
from policy_inertia.study.results import ExperimentResults, Levels, LineResults, Results
from policy_inertia.training.loggers import read_metrics


class StudyFolder:
    """One study on disk.

    study.json      the experiments, their lines, and the command
    runs/           one run folder for each task, method and seed
    failed.json     the runs that failed twice, with their errors
    """

    def __init__(self, path: Path, study: Study, command: str = "") -> None:
        self.path = path
        file = path / "study.json"
        old = _read_description(path) if file.exists() else {}
        if old and old["name"] != study.name:
            raise InputError(
                f"{path} holds the study '{old['name']}', not '{study.name}': choose another --out"
            )
        self._lock = claim(path, file.name, "study")
        experiments = {e["name"]: e for e in old.get("experiments", [])}
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


def collect(path: Path) -> Results:
    """Read the results of a study: its finished runs, line by line.

    Raises:
        InputError: the folder holds no study, or no run of it is finished.
    """
    about = _read_description(path)
    experiments = []
    for e in about["experiments"]:
        lines = [_read_line(path, line) for line in e["lines"]]
        lines = [x for x in lines if x.seeds]
        experiments.append(
            ExperimentResults(e["name"], e["title"], e["about"], e["ablation"], lines)
        )
    if not any(e.lines for e in experiments):
        raise InputError(f"{path} has no finished run yet: start the study, or go on with it")
    file = path / "failed.json"
    failed = read_json(file, "a study's failures")["failed"] if file.exists() else []
    return Results(
        about["title"],
        about["about"],
        about["command"],
        _run_versions(experiments),
        path,
        experiments,
        [(f["run"], f["error"]) for f in failed],
    )


def finished(run: Path, steps: int) -> bool:
    """Return whether the run in this folder was trained for `steps` and evaluated."""
    file = run / "result.json"
    return file.exists() and bool(read_json(file, "a run's result")["step"] >= steps)


def read_extra(run: Path, steps: int, name: str) -> dict[str, Any]:
    """Return the figures of an extra evaluation by level, such as "0.1".

    The figures of a policy that was trained for longer since are left out.
    """
    file = run / f"{name}.json"
    if not file.exists():
        return {}
    values = read_json(file, f"a run's {name}")
    return values["levels"] if values["step"] == steps else {}


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


def _read_description(path: Path) -> dict[str, Any]:
    file = path / "study.json"
    if not file.exists():
        raise InputError(f"{path} holds no study (no study.json): give the folder of one")
    about = read_json(file, "a study's description")
    for key in ("name", "experiments"):
        if key not in about:
            raise InputError(f"{file} does not describe a study ('{key}' is missing): restore it")
    return about


def _read_line(path: Path, line: dict[str, Any]) -> LineResults:
    config = line["config"]
    runs = {
        int(seed): path / place
        for seed, place in line["runs"].items()
        if finished(path / place, config["steps"])
    }
    folders = list(runs.values())
    return LineResults(
        line["label"],
        line["task"],
        config["method"],
        config["env"],
        config,
        list(runs),
        folders,
        [read_metrics(folder) for folder in folders],
        [read_json(folder / "result.json", "a run's result") for folder in folders],
        *(_read_levels(line, folders, name) for name in EXTRAS),
    )


def _read_levels(line: dict[str, Any], folders: list[Path], name: str) -> Levels:
    """Return an extra's figures at every level that all seeds have."""
    runs = [read_extra(folder, line["config"]["steps"], name) for folder in folders]
    return {
        level: [levels[repr(level)] for levels in runs]
        for level in line.get(name, ())
        if all(repr(level) in levels for levels in runs)
    }


def _run_versions(experiments: Sequence[ExperimentResults]) -> dict[str, str]:
    """Return the versions that the runs were made with; several of one package are listed."""
    known: dict[str, set[str]] = {}
    for folder in dict.fromkeys(f for e in experiments for x in e.lines for f in x.folders):
        about = read_json(folder / "run.json", "a run's description")
        for name, version in about["versions"].items():
            known.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(each)) for name, each in known.items()}
