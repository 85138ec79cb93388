"""What `compare`, `study` and `report` show of a study: its tables and its report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from policy_inertia.cli.flags import render_offscreen
from policy_inertia.cli.view import out, say, warn, working

if TYPE_CHECKING:
    from policy_inertia.study.analysis.statistics import Estimate
    from policy_inertia.study.analysis.summary import Row
    from policy_inertia.study.results import ExperimentResults, Results

MOST_THRESHOLDS = 3
"""With more thresholds of hysteresis, only the report shows them, not the screen."""
SECTIONS = {"sampled": ("sampled", "core"), "greedy": ("greedy",)}
"""The parts of a table, and the kinds of actions of the rows in each."""


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
    say(f"The study is in {results.folder}")
    if results.failed:
        sys.exit(1)


def write_report(
    results: Results,
    path: Path,
    inspect: bool = True,
    statistic: Literal["iqm", "paper"] = "iqm",
    trusting: str = "",
) -> None:
    """Write a study's HTML page to `path`.

    Warns if the runs come from different versions, and if an environment was not made because
    study.json names code that nobody has declared trusted.

    Args:
        results: the study.
        path: the HTML file.
        inspect: whether to record episodes.
        statistic: see `policy-inertia report`.
        trusting: the command that trusts the folder; by default `policy-inertia report`.
    """
    from policy_inertia.study.report.page import write

    mixed = [f"{name} {used}" for name, used in results.versions.items() if ", " in used]
    if mixed:
        warn(
            f"the runs were made by different versions ({'; '.join(mixed)}): compare them with "
            "care, or make all of them again in another folder"
        )
    render_offscreen()
    trusting = trusting or shlex.join(["policy-inertia", "report", str(results.folder), "--trust"])

    def refused(refusal: str) -> None:
        warn(f"{refusal}, so no episode is recorded: if you trust this folder, run {trusting}")

    with working("writing the report"):
        write(results, path, inspect, statistic, refused)
    say(f"Report: {path} ({path.stat().st_size / 1e6:.1f} MB)")


def study_tables(experiment: ExperimentResults, rows: Sequence[Row]) -> Iterator[Table]:
    """Make a table for each task of an experiment: every policy's figures over seeds."""
    for task in experiment.tasks:
        own = [r for r in rows if r.task == task]
        if len({r.hysteresis for r in own}) > 1 + MOST_THRESHOLDS:
            own = [r for r in own if r.hysteresis is None]
        title = experiment.title if experiment.title == task else f"{experiment.title}: {task}"
        yield _task_table(title, own)


def _task_table(title: str, rows: Sequence[Row]) -> Table:
    from policy_inertia.study.analysis.summary import always_greedy, measures_of

    table = Table(
        title=title,
        title_justify="left",
        caption=_caption(max(len(r.seeds) for r in rows)),
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    measures = measures_of(rows, "headline")
    table.add_column("")
    for m in measures:
        table.add_column(m.label.removesuffix(" ratio"), justify="right", no_wrap=True)
    for heading, kinds in SECTIONS.items():
        shown = [
            r
            for r in rows
            if r.actions in kinds and not (r.actions == "sampled" and always_greedy(rows, r))
        ]
        if shown:
            table.add_row(f"{heading} actions", style="italic")
        for r in shown:
            table.add_row(r.name, *(_cell(r.estimates.get(m.name), m.format) for m in measures))
        table.add_section()
    return table


def _caption(seeds: int) -> str:
    if seeds == 1:
        return "one seed: no interval"
    return f"interquartile mean and 95% bootstrap interval over {seeds} seeds"


def _cell(e: Estimate | None, style: str) -> str:
    if e is None:
        return ""
    if e.low is None or e.high is None:
        return style.format(e.value)
    return f"{style.format(e.value)} [{style.format(e.low)}, {style.format(e.high)}]"
