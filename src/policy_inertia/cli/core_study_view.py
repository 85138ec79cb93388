"""What `study` shows of a study around policies of another library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from policy_inertia.cli.view import say, warn

if TYPE_CHECKING:
    from policy_inertia.study.core_plan import CoreRun, CoreStudy
    from policy_inertia.study.core_records import CoreRecords


def show_missing(study: CoreStudy, folder: Path, records: CoreRecords) -> None:
    """Print how many seeds of each cell have no record yet."""
    runs = study.runs(folder.absolute())
    for cell in study.cells:
        own = [run for run in runs if run.cell is cell]
        todo = [run for run in own if records.read(run) is None]
        say(f"{cell.name}: {len(todo)} of {len(own)} seeds to do")


def show_cores(
    study: CoreStudy, runs: Sequence[CoreRun], records: CoreRecords, folder: Path
) -> None:
    """Print the tables of a study and write its picture; exit with code 1 if a run has failed."""
    from policy_inertia.study.report.core_page import core_page, write_picture

    measured = records.by_cell(runs)
    if measured:
        say(core_page(study, measured))
        picture = write_picture(study, measured, folder)
        if picture is not None:
            say(f"Picture: {picture}")
    failed = [run for run in runs if run.state == "failed"]
    for run in failed:
        warn(f"{run.label} failed twice: {run.error}")
    say(f"The cores are in {folder}")
    if failed:
        sys.exit(1)
