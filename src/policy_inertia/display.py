"""What the command line shows: tables and progress bars."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from .comparison import Row, Run
    from .study.plan import Run as StudyRun

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


def show(title: str, rows: Sequence[tuple[str, list[dict[str, Any]]]]) -> None:
    """One line for each of `rows`, with the columns that anything is known for."""
    columns = [c for c in COLUMNS if any(f.get(c[0]) is not None for _, fs in rows for f in fs)]
    table = Table("", *(c[1] for c in columns), title=title, title_justify="left")
    for label, figures in rows:
        table.add_row(label, *(_cell([f.get(key) for f in figures], s) for key, _, s in columns))
    out.print(table)


def comparison_table(title: str, rows: Sequence[Row]) -> Table:
    """Return, oscillation and failures of each method over seeds, sampled and greedy."""
    seeds = max(len(row.sampled) for row in rows)
    told = any(f["crash_rate"] is not None for row in rows for f in row.sampled)
    keys = ("return", "oscillation_ratio", "crash_rate" if told else "termination_rate")
    shown = [c for c in COLUMNS if c[0] in keys]
    caption = f"mean ± 95% t-interval over {seeds} seeds" if seeds > 1 else "one seed: no interval"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("method")
    table.add_column("actions")
    for _, label, _ in shown:
        table.add_column(label, justify="right")
    for row in rows:
        modes = [("sampled", row.sampled), ("greedy", row.greedy)]
        if row.sampled == row.greedy:  # a policy that is greedy anyway
            modes = modes[1:]
        for mode, figures in modes:
            cells = [_cell([f.get(key) for f in figures], style) for key, _, style in shown]
            table.add_row(row.name, mode, *cells)
    return table


def _cell(values: Sequence[float | None], style: str) -> str:
    from .comparison import interval

    told = [v for v in values if v is not None]
    if not told:
        return ""
    mean, half = interval(told)
    return style.format(mean) + (f" ± {style.format(half)}" if half == half else "")


def _news(figures: dict[str, Any]) -> str:
    if "eval/mean_reward" not in figures:
        return ""
    return (
        f"return {figures['eval/mean_reward']:.1f}  "
        f"oscillation {figures['eval/oscillation_ratio']:.3f}"
    )


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
def counting(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar for a few things that take seconds each; called with how many of how many are done."""
    with _bars() as bars:
        task = bars.add_task(what, total=total, news="")
        yield lambda i, n: bars.update(task, completed=i, total=n)


@contextlib.contextmanager
def training_progress(steps: int, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar with steps/s, return and oscillation; or a line for each evaluation."""
    last = -1

    def line(step: int, figures: dict[str, Any], speed: float) -> None:
        nonlocal last
        evaluated = figures.get("time/total_timesteps", -1)
        if evaluated > last:
            last = evaluated
            text = f"step {evaluated:>9,}  {_news(figures)}  {speed:,.0f} steps/s"
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
def comparison_progress(quiet: bool) -> Iterator[Callable[[list[Run]], None]]:
    """A bar for each run; or a line when it ends."""
    if quiet or not out.is_terminal:
        announced: set[Path] = set()

        def lines(runs: list[Run]) -> None:
            for r in runs:
                if r.path not in announced and (r.done or r.error):
                    announced.add(r.path)
                    state = _news(r.figures) if r.done else "failed"
                    out.print(
                        f"{len(announced)}/{len(runs)}  {r.config.method} seed {r.config.seed}  "
                        f"{state}",
                        soft_wrap=True,
                    )

        yield lines
        return
    with _bars() as bars:
        tasks: dict[Path, TaskID] = {}

        def watch(runs: list[Run]) -> None:
            for r in runs:
                if r.path not in tasks:
                    label = f"{r.config.method} {r.config.seed}"
                    tasks[r.path] = bars.add_task(label, total=r.config.steps, news="waiting")
                news = "failed" if r.error and not r.done else _news(r.figures)
                if r.step or r.done:
                    step = min(r.step, r.config.steps) if not r.done else r.config.steps
                    bars.update(tasks[r.path], completed=step, news=news)

        yield watch


@contextlib.contextmanager
def study_progress(quiet: bool) -> Iterator[Callable[[Sequence[StudyRun]], None]]:
    """The whole study with its remaining time, and a row for each run under way; or lines."""
    if quiet or not out.is_terminal:
        announced: set[tuple[Path, str]] = set()

        def lines(runs: Sequence[StudyRun]) -> None:
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

        def watch(runs: Sequence[StudyRun]) -> None:
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
