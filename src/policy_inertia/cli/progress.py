"""Progress bars, and the plain lines that replace them in log files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from policy_inertia.cli.view import out, say
from policy_inertia.errors import visible

if TYPE_CHECKING:
    from policy_inertia.study.plan import Run

ENDED = ("done", "failed")


def _latest(figures: dict[str, Any]) -> str:
    """The newest evaluation in a few words; empty before the first one."""
    from policy_inertia.metrics.measures import OSCILLATION, RETURN

    if "eval/return" not in figures:
        return ""
    parts = [f"{m.label} {m.show(figures[f'eval/{m.name}'])}" for m in (RETURN, OSCILLATION)]
    at_prices = [
        f"{value:.2f}"
        for name, value in figures.items()
        if name.startswith("dial/oscillation_ratio_at_")
    ]
    if at_prices:
        parts.append(f"dial {' / '.join(at_prices)}")
    return "  ".join(parts)


class _PlainColumn(TextColumn):
    """A column of text that is shown as it is, not read as markup."""

    def render(self, task: Task) -> Text:
        return Text(visible(self.text_format.format(task=task)))


def _bars(disable: bool = False) -> Progress:
    return Progress(
        _PlainColumn("{task.description}"),
        BarColumn(),
        _PlainColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        _PlainColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
        console=out,
        disable=disable,
    )


@contextlib.contextmanager
def counting(title: str, total: int, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show a bar for a few parts that take seconds each; with `quiet`, show nothing.

    Yields:
        A function of the number of finished parts, the number of all parts and, if it has one,
        the name of the next part.
    """
    with _bars(quiet or not out.is_terminal) as bars:
        task = bars.add_task(title, total=total, status="")
        yield lambda done, of, status="": bars.update(task, completed=done, total=of, status=status)


@contextlib.contextmanager
def training_progress(steps: int, quiet: bool) -> Iterator[Callable[..., None]]:
    """Show a bar with speed, return and oscillation; with `quiet`, a line for each evaluation.

    Yields:
        A function of the step, the newest figures and the steps per second.
    """
    shown: dict[str, Any] = {}

    def line(step: int, figures: dict[str, Any], speed: float) -> None:
        nonlocal shown
        if figures is not shown:  # a new evaluation
            shown = figures
            say(f"step {step:>9,}  {_latest(figures)}  {speed:,.0f} steps/s")

    if quiet or not out.is_terminal:
        yield line
        return
    with _bars() as bars:
        task = bars.add_task("training", total=steps, status="compiling")

        def bar(step: int, figures: dict[str, Any], speed: float) -> None:
            status = f"{speed:,.0f} steps/s  {_latest(figures)}"
            bars.update(task, completed=min(step, steps), status=status)

        yield bar


@contextlib.contextmanager
def study_progress(quiet: bool) -> Iterator[Callable[[Sequence[Run]], None]]:
    """Show a bar for the study and one for each run under way; with `quiet`, a line per run.

    Yields:
        A function of the study's runs; call it whenever one of them may have changed.
    """
    if quiet or not out.is_terminal:
        yield _StudyLines().update
        return
    with _bars() as bars:
        yield _StudyBars(bars).update


class _StudyLines:
    """A line for each run that has ended or failed."""

    def __init__(self) -> None:
        self.printed: set[tuple[Path, str]] = set()

    def update(self, runs: Sequence[Run]) -> None:
        ended = sum(r.state in ENDED for r in runs)
        for r in runs:
            state = "failed once" if r.error and r.state == "waiting" else r.state
            if state in ("waiting", "running") or not r.tries or (r.path, state) in self.printed:
                continue
            self.printed.add((r.path, state))
            text = _latest(r.figures) if state == "done" else f"{state}: {r.error}"
            say(f"{ended}/{len(runs)}  {r.label}  {text}")


class _StudyBars:
    """A bar for the whole study, with its remaining time, and one for each run under way."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.study = bars.add_task("all runs", total=1, status="")
        self.running: dict[Path, TaskID] = {}

    def update(self, runs: Sequence[Run]) -> None:
        done, failed = (sum(r.state == state for r in runs) for state in ENDED)
        self.bars.update(
            self.study,
            total=sum(r.config.steps for r in runs),
            completed=sum(r.config.steps if r.state in ENDED else r.step for r in runs),
            status=f"{done} of {len(runs)} runs" + (f", {failed} failed" if failed else ""),
        )
        for r in runs:
            self._update_run(r)

    def _update_run(self, r: Run) -> None:
        if r.state != "running":
            if r.path in self.running:
                self.bars.remove_task(self.running.pop(r.path))
            return
        if r.path not in self.running:
            task = self.bars.add_task(r.label, total=r.config.steps, status="starting")
            self.running[r.path] = task
        if r.step:
            task = self.running[r.path]
            self.bars.update(task, completed=r.step, status=_latest(r.figures))
