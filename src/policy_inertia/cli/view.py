"""What the command line shows: tables and progress bars."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from policy_inertia.metrics.calibration_table import Calibration
    from policy_inertia.study.analysis.statistics import Estimate
    from policy_inertia.study.analysis.summary import Row
    from policy_inertia.study.plan import Run
    from policy_inertia.study.results import Experiment

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def complain(text: str, style: str = "") -> None:
    """One sentence on stderr."""
    err.print(f"policy-inertia: {escape(text)}", style=style, soft_wrap=True)


def warn(text: str) -> None:
    """Something went otherwise than asked, and the command goes on."""
    complain(text, "yellow")


COLUMNS = (
    ("return", "return", "{:.1f}"),
    ("oscillation_ratio", "oscillation", "{:.3f}"),
    ("reversal_ratio", "reversals", "{:.3f}"),
    ("mean_dwell", "dwell", "{:.2f}"),
    ("termination_rate", "terminated", "{:.2f}"),
    ("crash_rate", "crashed", "{:.2f}"),
    ("mu_mean", "mean mu", "{:.2f}"),
)


def show(title: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """One line for each of `rows`, with the columns that anything is known for."""
    columns = [c for c in COLUMNS if any(f.get(c[0]) is not None for _, f in rows)]
    table = Table("", *(c[1] for c in columns), title=title, title_justify="left")
    for label, figures in rows:
        cells = [(figures.get(key), style) for key, _, style in columns]
        table.add_row(label, *("" if v is None else style.format(v) for v, style in cells))
    out.print(table)


def show_calibration(title: str, table: Calibration) -> None:
    """One line for each setting of a dial."""
    told = any(row.crash_rate is not None for row in table.rows)
    names = (table.setting_name, "oscillation", "return", "crashed" if told else "terminated")
    shown = Table(title=title, title_justify="left")
    for name in names:
        shown.add_column(name, justify="right")
    for row in table.rows:
        failed = row.crash_rate if told else row.termination_rate
        shown.add_row(
            f"{row.setting:.3g}",
            f"{row.oscillation_ratio:.3f}",
            f"{row.mean_return:.2f}",
            "" if failed is None else f"{failed:.2f}",
        )
    out.print(shown)


MOST_THRESHOLDS = 3  # of hysteresis that a table on the screen shows


def study_tables(experiment: Experiment, rows: Sequence[Row]) -> Iterator[Table]:
    """For each task of an experiment, every policy's figures over seeds, sampled and greedy."""
    from policy_inertia.study.analysis.summary import (
        CRASHES,
        ENDS,
        OSCILLATION,
        RETURN,
        always_greedy,
        tasks,
    )

    for task in tasks(experiment):
        here = [r for r in rows if r.task == task]
        if len({r.hysteresis for r in here}) > 1 + MOST_THRESHOLDS:  # the report shows all
            here = [r for r in here if r.hysteresis is None]
        told = any(CRASHES.key in r.estimates for r in here)
        measures = (RETURN, OSCILLATION, CRASHES if told else ENDS)
        counts = {len(r.seeds) for r in here}
        most = f"{max(counts)} seed{'s' * (max(counts) != 1)}"
        caption = (
            f"interquartile mean and 95% bootstrap interval over {most}"
            if max(counts) > 1
            else "one seed: no interval"
        )
        title = experiment.title if experiment.title == task else f"{experiment.title}: {task}"
        left: Any = {"title_justify": "left", "caption_justify": "left"}
        table = Table(title=title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), **left)
        table.add_column("")
        for m in measures:
            table.add_column(m.label.removesuffix(" ratio"), justify="right", no_wrap=True)
        for kinds, head in ((("sampled", "core"), "sampled"), (("greedy",), "greedy")):
            own = [r for r in here if r.actions in kinds]
            own = [r for r in own if r.actions != "sampled" or not always_greedy(rows, r)]
            if own:
                table.add_row(f"[italic]{head} actions")
            for r in own:
                cells = [(r.estimates.get(m.key), m.style) for m in measures]
                table.add_row(escape(r.name), *(_cell(e, style) for e, style in cells))
            table.add_section()
        yield table


def _cell(e: Estimate | None, style: str) -> str:
    if e is None:
        return ""
    if e.low is None or e.high is None:
        return style.format(e.value)
    return f"{style.format(e.value)} \\[{style.format(e.low)}, {style.format(e.high)}]"


def _news(figures: dict[str, Any]) -> str:
    if "eval/return" not in figures:
        return ""
    news = (
        f"return {figures['eval/return']:.1f}  oscillation {figures['eval/oscillation_ratio']:.3f}"
    )
    turned = [
        f"{figures[key]:.2f}" for key in figures if key.startswith("dial/oscillation_ratio_at_")
    ]
    return f"{news}  dial {' / '.join(turned)}" if turned else news


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[news]}"),
        TimeRemainingColumn(),
        console=out,
    )


@contextlib.contextmanager
def counting(what: str, total: int, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """A bar for a few things that take seconds each; called with how many of how many are done.

    And with a word on the next one, if there is one to say.
    """
    bars = _bars()
    bars.disable = quiet
    with bars:
        task = bars.add_task(what, total=total, news="")
        yield lambda i, n, news="": bars.update(task, completed=i, total=n, news=news)


@contextlib.contextmanager
def training_progress(steps: int, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar with steps/s, return and oscillation; or a line for each evaluation."""
    last: dict[str, Any] = {}

    def line(step: int, figures: dict[str, Any], speed: float) -> None:
        nonlocal last
        if figures is not last:  # a new evaluation
            last = figures
            text = f"step {step:>9,}  {_news(figures)}  {speed:,.0f} steps/s"
            out.print(text, soft_wrap=True)

    if quiet or not out.is_terminal:
        yield line
        return
    with _bars() as bars:
        task = bars.add_task("training", total=steps, news="compiling")

        def bar(step: int, figures: dict[str, Any], speed: float) -> None:
            news = f"{speed:,.0f} steps/s  {_news(figures)}"
            bars.update(task, completed=min(step, steps), news=news)

        yield bar


@contextlib.contextmanager
def study_progress(quiet: bool) -> Iterator[Callable[[Sequence[Run]], None]]:
    """The whole study with its remaining time, and a row for each run under way; or lines."""
    if quiet or not out.is_terminal:
        announced: set[tuple[Path, str]] = set()

        def lines(runs: Sequence[Run]) -> None:
            ended = sum(r.state in ("done", "failed") for r in runs)
            for r in runs:
                told = "failed once" if r.error and r.state == "waiting" else r.state
                if (
                    told not in ("waiting", "running")
                    and r.tries
                    and (r.path, told) not in announced
                ):
                    announced.add((r.path, told))
                    text = _news(r.figures) if told == "done" else f"{told}: {r.error}"
                    out.print(f"{ended}/{len(runs)}  {r.label}  {text}", soft_wrap=True)

        yield lines
        return
    with _bars() as bars:
        whole = bars.add_task("all runs", total=1, news="")
        rows: dict[Path, TaskID] = {}

        def watch(runs: Sequence[Run]) -> None:
            counts = {s: sum(r.state == s for r in runs) for s in ("done", "failed")}
            failed = f", {counts['failed']} failed" if counts["failed"] else ""
            bars.update(
                whole,
                total=sum(r.config.steps for r in runs),
                completed=sum(
                    r.config.steps if r.state in ("done", "failed") else r.step for r in runs
                ),
                news=f"{counts['done']} of {len(runs)} runs{failed}",
            )
            for r in runs:
                if r.state == "running" and r.path not in rows:
                    rows[r.path] = bars.add_task(r.label, total=r.config.steps, news="starting")
                elif r.state != "running" and r.path in rows:
                    bars.remove_task(rows.pop(r.path))
                if r.path in rows and r.step:
                    bars.update(rows[r.path], completed=r.step, news=_news(r.figures))

        yield watch
