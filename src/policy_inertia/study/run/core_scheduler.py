"""Carry out a study around policies that another library trains."""

from __future__ import annotations

import os
from pathlib import Path

from policy_inertia.envs.making import make_env
from policy_inertia.errors import Stopped
from policy_inertia.metrics.measures import FLUCTUATION, OSCILLATION, RETURN
from policy_inertia.study.core_plan import CoreRun, CoreStudy
from policy_inertia.study.core_records import CoreRecord, CoreRecords
from policy_inertia.study.run import core_job
from policy_inertia.study.run.core_training import algorithm_of
from policy_inertia.study.run.scheduler import Watch, carry_out
from policy_inertia.study.run.workers import Workers
from policy_inertia.training.interruption import Interruption


def run_core_study(
    study: CoreStudy,
    out: str | os.PathLike[str],
    records: CoreRecords,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> list[CoreRun]:
    """Carry out the runs that have no record, and return all runs.

    A run that fails twice has the state "failed"; the other runs go on. After a kill, trained cores
    are used again.

    Args:
        study: The study.
        out: Folder for cores, controllers and their records.
        records: Records that replace runs.
        jobs: Number of processes; by default one for each core of the machine.
        watch: Called with all runs while they go on.

    Raises:
        InputError: A library or an env is not installed, or the folder holds other runs.
        Stopped: SIGINT or SIGTERM came.
    """
    runs = study.runs(Path(out).absolute())
    records.refuse_others(runs)
    for run in runs:
        record = records.read(run)
        if record is not None:
            run.state = "done"
            records.write(run)
    _refuse_missing([run for run in runs if run.state != "done"])

    def ended(run: CoreRun) -> None:
        record = records.read(run)
        assert record is not None, "a run that is done has its record"
        run.figures = _headline(record)
        records.write(run)

    pool = Workers(jobs, core_job.core_job, core_job.__name__)
    with Interruption() as interruption:
        try:
            with interruption.at_once():
                carry_out(runs, pool, watch or (lambda runs: None), ended)
        except Stopped as stop:
            raise Stopped(stop.signal, "stopped; the same command goes on") from None
        finally:
            pool.close()
    return runs


def _refuse_missing(runs: list[CoreRun]) -> None:
    """Raise if a library or an env of these runs is missing: before anything runs."""
    cores = [run.cell.core for run in runs]
    for name in dict.fromkeys(core.algorithm for core in cores):
        algorithm_of(name)
    for core in {core.env: core for core in cores}.values():
        make_env(core.env, core.env_kwargs).close()


def _headline(record: CoreRecord) -> dict[str, float]:
    """The core's figures as a progress line shows them."""
    core = record.figures["core"]
    names = (RETURN.name, FLUCTUATION.name, OSCILLATION.name)
    return {f"eval/{name}": core[name] for name in names if name in core}
