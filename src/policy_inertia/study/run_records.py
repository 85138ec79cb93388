"""Records: the figures of finished runs as small JSON files that can be committed.

A record holds a run's settings, versions, commit, final result and extra evaluations as they are,
and the curve of its evaluations as columns of six significant digits. It holds no policy. From a
record `restore` makes the small files of the run again, so everything that reads a study's folder
works without training.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.run_settings import merge, settings
from policy_inertia.storage import FORMAT, read_json, write_json
from policy_inertia.study.folder import (
    Levels,
    RunResult,
    read_extra,
    read_result,
    write_extra,
)
from policy_inertia.study.plan import EXTRAS, Experiment, Line, Run, Study
from policy_inertia.study.results import ExperimentResults, LineResults, Results
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.training.loggers import METRICS, read_metrics
from policy_inertia.training.run_folder import RunDescription, read_description

CURVE = (
    "step",
    "train/updates",
    "eval/",
    "dial/",
    "limit/",
)  # how the columns of a record's curve begin
FREE = ("checkpoint_seconds",)  # settings that cannot change a run's figures
DIGITS = 6


@dataclass(frozen=True)
class Record:
    """The contents of a record's file: a run's settings, versions, commit and figures."""

    config: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    result: RunResult
    curve: dict[str, list[float | None]]
    hysteresis: Levels | None = None
    budgets: Levels | None = None
    core_budgets: Levels | None = None
    limits: Levels | None = None
    tuned_limits: Levels | None = None

    def __post_init__(self) -> None:
        steps = self.curve.get("step", [])
        if any(len(column) != len(steps) for column in self.curve.values()) or None in steps:
            raise InputError("the columns of its curve differ in length, or it has no steps")


@dataclass(frozen=True)
class Records:
    """A folder of records, `TASK/METHOD,CHANGES/seed-K.json`, as in a study's `runs/`.

    Args:
        path: the folder; it need not exist.
        writable: write the record of every run that finishes. Without it, records are only read.
        further: folders of other studies, which are only read: a run with the same settings is
            trained once for all of them.
    """

    path: Path
    writable: bool = False
    further: tuple[Path, ...] = ()

    def file(self, run: Run) -> Path:
        """Return the file of a run's record in this folder."""
        return _file(self.path, run)

    def has(self, run: Run) -> bool:
        """Return whether a record can replace the run: same settings, no figure missing."""
        return self.find(run) is not None

    def find(self, run: Run) -> Record | None:
        """Return the record that can replace the run; None if there is none."""
        for folder in (self.path, *self.further):
            file = _file(folder, run)
            if file.exists() and _replaces(record := read_record(file), run):
                return record
        return None

    def restore(self, run: Run) -> None:
        """Write the small files of a run from its record, with all settings of today."""
        record = self.find(run)
        assert record is not None, "the caller asks `has` first"
        restore(replace(record, config=_all_settings(record, run)), run.path)

    def write(self, run: Run) -> None:
        """Write the record of a finished run, if this folder is writable."""
        if self.writable:
            write_record(run.path, self.file(run))

    def refuse_others(self, runs: list[Run]) -> None:
        """Raise if the record of a run with other settings would be overwritten."""
        for run in runs if self.writable else ():
            file = self.file(run)
            names = _different(read_record(file), run) if file.exists() else []
            if names:
                raise InputError(
                    f"{file} is the record of a run with other settings ({', '.join(names)}): "
                    "give another folder with --records"
                )


def recorded_results(study: Study, records: Records) -> Results:
    """Return the results of a study from its records alone; a line without a record has no seeds.

    A record with other settings than the study's is left out.
    """
    experiments = [
        ExperimentResults(
            e.name, e.title, e.about, e.ablation, [_line(study, e, x, records) for x in e.lines]
        )
        for e in study.experiments
    ]
    return Results(study.title, study.about, "", {}, records.path, experiments, [])


def _line(study: Study, experiment: Experiment, line: Line, records: Records) -> LineResults:
    runs = [study.run(records.path, experiment, line, seed) for seed in study.seeds]
    each = {r.config.seed: records.find(r) for r in runs}
    known = {seed: record for seed, record in each.items() if record is not None}
    levels = {
        name: {
            level: [getattr(record, name)[repr(level)] for record in known.values()]
            for level in getattr(runs[0], name)
        }
        for name in EXTRAS
    }
    return LineResults(
        line.label,
        line.task.name,
        line.method,
        line.task.env,
        runs[0].config.to_dict(),
        list(known),
        [r.path for r in runs if r.config.seed in known],
        [_rows(record) for record in known.values()],
        [record.result.to_dict() for record in known.values()],
        **levels,
    )


def write_record(run: Path, file: Path) -> Path:
    """Write the record of the finished run in the folder `run`, and return `file`."""
    about, result = read_description(run), read_result(run)
    record: dict[str, Any] = {"format": FORMAT, **asdict(about), "result": result.to_dict()}
    for name in EXTRAS:
        if levels := read_extra(run, result.step, name):
            record[name] = levels
    record["curve"] = _columns(read_metrics(run))
    make_folder(file.parent)
    write_file(file, (_text(record) + "\n").encode())
    return file


def read_record(file: Path) -> Record:
    """Read a record.

    Raises:
        InputError: the file is no record.
    """
    return read_json(file, Record, "a run's record")


def restore(record: Record, run: Path) -> None:
    """Write run.json, metrics.jsonl, result.json and the extra evaluations of a record.

    A checkpoint in the folder is removed: the run is over. The result is written last, so a kill
    leaves a folder that is restored again.

    Args:
        record: the record.
        run: the run's folder.
    """
    make_folder(run)
    about = RunDescription(record.config, record.versions, record.commit)
    write_json(run / "run.json", {"format": FORMAT, **asdict(about)})
    write_file(run / METRICS, "".join(json.dumps(x) + "\n" for x in _rows(record)).encode())
    for name in EXTRAS:
        if levels := getattr(record, name):
            write_extra(run, record.result.step, name, levels)
    Checkpoints(run).remove()
    write_json(run / "result.json", {"format": FORMAT, **record.result.to_dict()})


def _file(folder: Path, run: Run) -> Path:
    task, variant, seed = run.path.parts[-3:]
    return folder / task / variant / f"{seed}.json"


def _replaces(record: Record, run: Run) -> bool:
    """Return whether a record has the run's settings and all of its extra evaluations."""
    return not _different(record, run) and all(
        {repr(level) for level in getattr(run, name)} <= (getattr(record, name) or {}).keys()
        for name in EXTRAS
    )


def _all_settings(record: Record, run: Run) -> dict[str, Any]:
    """Return a record's settings; one that it lacks came later, and then had the paper's value."""
    config = run.config
    paper = settings(config.method, config.env, preset="paper", actions=config.actions)
    return merge(json.loads(json.dumps(paper.to_dict())), record.config)


def _different(record: Record, run: Run) -> list[str]:
    """Return the names of the settings in which a record and a run differ."""
    old, new = _all_settings(record, run), json.loads(json.dumps(run.config.to_dict()))
    return [n for n in {**new, **old} if n not in FREE and old.get(n) != new.get(n)]


def _columns(metrics: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the logged evaluations by name; an evaluation that lacks a figure has None."""
    names = dict.fromkeys(n for row in metrics for n in row if n.startswith(CURVE))
    return {n: [_rounded(row.get(n)) for row in metrics] for n in names}


def _rows(record: Record) -> list[dict[str, Any]]:
    """Return the evaluations of a record as metrics.jsonl holds them."""
    rows = zip(*record.curve.values(), strict=True)
    return [{n: v for n, v in zip(record.curve, row, strict=True) if v is not None} for row in rows]


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _text(value: Any, depth: int = 2) -> str:
    """Return JSON with a line for each entry of the outer tables, for diffs that can be read."""
    if depth and isinstance(value, dict) and value:
        entries = (f"{json.dumps(n)}: {_text(v, depth - 1)}" for n, v in value.items())
        return "{\n" + ",\n".join(entries) + "\n}"
    return json.dumps(value)
