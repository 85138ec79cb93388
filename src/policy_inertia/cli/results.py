"""What `compare`, `study` and `report` show at their end: a study's tables and its report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from policy_inertia.cli.flags import render_offscreen
from policy_inertia.cli.view import out, study_tables, warn

if TYPE_CHECKING:
    from policy_inertia.study.results import Results


def show_results(results: Results, with_report: bool = True) -> None:
    """Print a study's tables and write its report; exit with code 1 if a run has failed."""
    from policy_inertia.study.analysis.summary import tabulate

    rows = tabulate(results)
    for experiment in results.experiments:
        for table in study_tables(experiment, rows[experiment.name]):
            out.print(table)
    for run, error in results.failed:
        warn(f"{run} failed twice: {error}")
    if with_report:
        write_report(results, results.folder / "report.html")
    out.print(f"The study is in {results.folder}", soft_wrap=True)
    if results.failed:
        sys.exit(1)


def write_report(
    results: Results,
    path: Path,
    inspect: bool = True,
    statistic: Literal["iqm", "paper"] = "iqm",
) -> None:
    """Write a study's HTML page to `path`; warn if its runs come from different versions."""
    from policy_inertia.study.report.page import write

    mixed = [f"{name} {used}" for name, used in results.versions.items() if ", " in used]
    if mixed:
        warn(
            f"the runs were made by different versions ({'; '.join(mixed)}): compare them with "
            "care, or make all of them again in another folder"
        )
    render_offscreen()
    with out.status("writing the report"):
        write(results, path, inspect, statistic)
    out.print(f"Report: {path} ({path.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
