"""Progress bars, and the plain lines that replace them in log files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from policy_inertia.cli.view import out

if TYPE_CHECKING:
    from policy_inertia.study.plan import Run


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
