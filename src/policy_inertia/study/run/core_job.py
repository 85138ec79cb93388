"""One seed of a cell in a process of its own: train the core, measure, write the record."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import policy_inertia.interop  # noqa: F401 - registers the loaders of `load_core`
from policy_inertia.files import make_folder
from policy_inertia.machine import commit, use_one_thread, versions
from policy_inertia.schema import read_as
from policy_inertia.storage import FORMAT, write_json
from policy_inertia.study.core_plan import Cell, CoreRun
from policy_inertia.study.core_records import RECORD, CoreRecord
from policy_inertia.study.run.core_training import library_versions, train_core
from policy_inertia.study.run.filter_measurement import measure_filters
from policy_inertia.study.run.job import Job, serve
from policy_inertia.study.run.transfer_measurement import measure_transfer
from policy_inertia.training.run_folder import RunFolder

Measurement = Callable[[Path, Cell, int, Path], dict[str, Any]]
"""From the file of a core, its cell, the seed and a folder for runs to the figures of a record."""

MEASUREMENTS: dict[str, Measurement] = {"filters": measure_filters, "transfer": measure_transfer}
"""What can be measured around a core, one row each."""


def core_job(run: CoreRun) -> Job:
    """Return a run as the JSON that a worker reads."""
    return {"path": str(run.path), "seed": run.seed, "cell": asdict(run.cell)}


def execute(job: Job) -> None:
    """Train the core of a run unless its file is there, measure, and write the record."""
    run = CoreRun(read_as(Cell, job["cell"]), job["seed"], Path(job["path"]))
    make_folder(run.path)
    folder = RunFolder(run.path, run.config(), resume=True)  # refuses a core of other settings
    try:
        core, seconds = run.path / "core.zip", {}
        if not core.exists():
            started = time.process_time()
            train_core(run.cell.core, core, run.seed)
            seconds["core"] = round(time.process_time() - started, 1)
        started, fresh = time.process_time(), not (run.path / "measured").exists()
        figures = MEASUREMENTS[run.cell.measured](core, run.cell, run.seed, run.path / "measured")
        if fresh:  # the time of a resumed run would be too short
            seconds["measured"] = round(time.process_time() - started, 1)
        about = versions() | library_versions()
        record = CoreRecord(run.config(), about, commit(), seconds, figures)
        write_json(run.path / RECORD, {"format": FORMAT, **asdict(record)})
    finally:
        folder.close()


if __name__ == "__main__":
    use_one_thread()
    serve(execute)
