"""policy-inertia study: many runs as one study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from rich.table import Table
from tyro.conf import DisallowNone, Positional, arg

from policy_inertia.cli.command import Command, command_line
from policy_inertia.cli.core_study_view import show_cores, show_missing
from policy_inertia.cli.flags import Log, WorkerOptions, default_is
from policy_inertia.cli.progress import counting, study_progress
from policy_inertia.cli.study_view import show_results
from policy_inertia.cli.view import out, say
from policy_inertia.errors import InputError

if TYPE_CHECKING:
    from policy_inertia.study.core_plan import CoreStudy
    from policy_inertia.study.plan import Study as Plan
    from policy_inertia.study.run_records import Records


@dataclass(frozen=True)
class Study(Command):
    """Run the paper's experiments, or your own study.

    A study is many runs. They run in one process per processor core, or on a Ray cluster. You can
    stop it at any time; the same command continues.

    --ray without an address takes the cluster that RAY_ADDRESS names, or the one on this machine.
    All nodes must share the folder.
    """

    name: ClassVar[str] = "study"
    example: ClassVar[str] = "policy-inertia study paper --scale 0.01"

    study: Positional[str]
    """A study of the library, such as paper (all experiments of the paper), or a TOML file."""
    workers: Annotated[WorkerOptions, arg(name="")]
    only: Annotated[tuple[str, ...], default_is("all but those on request")] = ()
    """Names of the experiments or cells to run; some, such as atari of paper, run on request."""
    out: Annotated[DisallowNone[Path | None], default_is("runs/STUDY")] = None
    """Folder for the runs and the report."""
    scale: float = 1.0
    """Shorten every run by this factor, such as 0.01 for a trial."""
    seeds: Annotated[DisallowNone[int | None], default_is("as the study says")] = None
    """Number of seeds: the first ones of the study."""
    records: Annotated[DisallowNone[Path | None], default_is("results/STUDY, only read")] = None
    """Folder of records: a run that has a record is not repeated, and every run writes one."""
    dry_run: bool = False
    """Run nothing: list the runs and how long they will take, measured on a few seconds of each."""
    ray: Annotated[DisallowNone[str | None], default_is("no cluster")] = None
    """Run on the Ray cluster at this address."""
    log: Log = ()
    no_report: bool = False
    """Write no report; 'policy-inertia report' can write it later."""

    @classmethod
    def parse(cls, args: Sequence[str]) -> Self:
        """Read the flags; a --ray without an address means 'auto'."""
        args = list(args)
        if "--ray" in args:
            address = args.index("--ray") + 1
            if address == len(args) or args[address].startswith("-"):
                args.insert(address, "auto")
        return super().parse(args)

    def run(self) -> None:
        from policy_inertia.study.core_plan import CoreStudy
        from policy_inertia.study.declared import find_study

        plan = find_study(self.study).only(self.only).scaled(self.scale)
        if self.seeds is not None:
            plan = plan.with_seeds(self.seeds)
        if isinstance(plan, CoreStudy):
            self._run_cores(plan)
        else:
            self._run_methods(plan)

    def _run_methods(self, plan: Plan) -> None:
        """Run a study whose policies this package trains."""
        from policy_inertia.study.run.scheduler import run_study
        from policy_inertia.study.run_records import Records

        folder = self.out or Path("runs") / plan.name
        place = self.records or Path("results") / plan.name
        further = tuple(place.parent / name for name in plan.shared)
        records = Records(place, self.records is not None, further)
        if self.dry_run:
            _show_duration(plan, folder, self.workers.jobs, records)
            return
        pool = self._pool()
        with study_progress(self.workers.quiet) as watch:
            results = run_study(plan, folder, pool, watch, command_line(), records)
        show_results(results, with_report=not self.no_report)

    def _run_cores(self, plan: CoreStudy) -> None:
        """Run a study whose policies another library trains."""
        from policy_inertia.study.core_records import CoreRecords
        from policy_inertia.study.run.core_scheduler import run_core_study

        if self.ray:
            raise InputError(f"'{plan.name}' does not run on Ray: leave --ray out")
        if self.log:
            raise InputError(
                f"'{plan.name}' trains policies of another library, which has loggers of its own: "
                "leave --log out"
            )
        folder = self.out or Path("runs") / plan.name
        records = CoreRecords(self.records or Path("results") / plan.name, self.records is not None)
        if self.dry_run:
            show_missing(plan, folder, records)
            return
        with study_progress(self.workers.quiet) as watch:
            runs = run_core_study(plan, folder, records, self.workers.jobs, watch)
        show_cores(plan, runs, records, folder)

    def _pool(self) -> Any:
        from policy_inertia.study.run.job import job_of
        from policy_inertia.study.run.ray import RayPool
        from policy_inertia.study.run.workers import Workers
        from policy_inertia.training.trackers.table import find_trackers

        find_trackers(self.log)
        if self.ray:
            return RayPool(self.ray, self.log)
        return Workers(self.workers.jobs, partial(job_of, log=self.log))


def _show_duration(plan: Plan, folder: Path, jobs: int | None, records: Records) -> None:
    from policy_inertia.study.run.duration import remaining
    from policy_inertia.study.run.workers import Workers

    with counting("timing each kind of run", 1) as watch:
        lines = remaining(plan, folder, watch, records)
    table = Table("runs", "seeds", "minutes, on one core", box=None, title_justify="left")
    for line in lines:
        table.add_row(line.label, str(line.runs), f"{line.seconds / 60:.1f}")
    out.print(table)
    runs, hours = sum(x.runs for x in lines), sum(x.seconds for x in lines) / 3600
    processes = Workers(jobs).jobs
    say(
        f"{runs} runs to do, about {hours:.1f} hours on one core, "
        f"{hours / processes:.1f} in {processes} processes"
    )
