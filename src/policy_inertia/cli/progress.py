"""Progress bars, and the plain lines that replace them in log files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from policy_inertia.cli.view import out, say
from policy_inertia.errors import visible

if TYPE_CHECKING:
    from policy_inertia.study.plan import Tracked

ENDED = ("done", "failed")
SECONDS_BETWEEN_LINES = 60.0


AT_SETTINGS: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "dial": ("at price 0", "0", lambda share: f"at {share:.0%} of the largest price"),
    "limit": ("without a limit", "", lambda rate: f"at {rate:g} switches per step"),
}
"""For figures at several settings: where the evaluation itself is, its setting's name, and how the
other settings are called."""


def _latest(figures: dict[str, Any]) -> str:
    """The newest evaluation in a few words; empty before the first one."""
    from policy_inertia.metrics.measures import FLUCTUATION, OSCILLATION, RETURN

    if "eval/return" not in figures:
        return ""
    measures = (RETURN, OSCILLATION)
    for kind, (here, own, name) in AT_SETTINGS.items():
        prefix = f"{kind}/{OSCILLATION.name}_at_"
        settings = [key.removeprefix(prefix) for key in figures if key.startswith(prefix)]
        if settings:
            places = {here: "eval/{}"}
            places |= {name(float(s)): f"{kind}/{{}}_at_{s}" for s in settings if s != own}
            texts = [
                f"{', '.join(m.show(figures.get(key.format(m.name))) for m in measures)} {place}"
                for place, key in places.items()
            ]
            return f"{', '.join(m.label for m in measures)}: {'; '.join(texts)}"
    known = [m for m in (*measures, FLUCTUATION) if figures.get(f"eval/{m.name}") is not None]
    return "  ".join(f"{m.label} {m.show(figures[f'eval/{m.name}'])}" for m in known)


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
def study_progress(quiet: bool) -> Iterator[Callable[[Sequence[Tracked]], None]]:
    """Show a bar for the study and one for each run under way; with `quiet`, plain lines.

    Yields:
        A function of the study's runs; call it whenever one of them may have changed.
    """
    if quiet or not out.is_terminal:
        yield _StudyLines().update
        return
    with _bars() as bars:
        yield _StudyBars(bars).update


def _show_plan(runs: Sequence[Tracked]) -> None:
    """Say how much is to be done, before anything is known about the time."""
    todo = [r for r in runs if r.state != "done"]
    steps = sum(r.steps - r.step for r in todo)
    say(
        f"{len(todo)} of {len(runs)} runs to do, {steps:,} steps in all; the first evaluations "
        "show how long it takes"
    )


class _StudyLines:
    """A line for each run that has ended or failed, and now and then one with the time left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.printed: set[tuple[Path, str]] = set()
        self.clock, self.due = clock, 0.0
        self.start: tuple[float, int] | None = None  # the time and the steps then

    def update(self, runs: Sequence[Tracked]) -> None:
        if self.start is None:
            self.start = self.clock(), _steps_done(runs)
            _show_plan(runs)
        ended = sum(r.state in ENDED for r in runs)
        for r in runs:
            state = "failed once" if r.error and r.state == "waiting" else r.state
            if state in ("waiting", "running") or not r.tries or (r.path, state) in self.printed:
                continue
            self.printed.add((r.path, state))
            text = _latest(r.figures) if state == "done" else f"{state}: {r.error}"
            say(f"{ended}/{len(runs)}  {r.label}  {text}")
        self._show_time_left(runs)

    def _show_time_left(self, runs: Sequence[Tracked]) -> None:
        """Print the share that is done and the time left: at the first sign of it, and then on."""
        assert self.start is not None
        began, before = self.start
        now, done, steps = self.clock(), _steps_done(runs), sum(r.steps for r in runs)
        if before < done < steps and now >= self.due:
            left = (now - began) * (steps - done) / (done - before)
            share, running = done / steps, sum(r.state == "running" for r in runs)
            say(f"{share:.0%} of all steps, {running} runs under way, about {_span(left)} left")
            self.due = now + SECONDS_BETWEEN_LINES


def _steps_done(runs: Sequence[Tracked]) -> int:
    return sum(r.steps if r.state in ENDED else r.step for r in runs)


def _span(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{int(seconds < 10 * size)}f} {unit}"
    return f"{max(1, round(seconds))} seconds"


class _StudyBars:
    """A bar for the whole study, with its remaining time, and one for each run under way."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.study = bars.add_task("all runs", total=1, status="")
        self.running: dict[Path, TaskID] = {}
        self.begun = False

    def update(self, runs: Sequence[Tracked]) -> None:
        if not self.begun:
            self.begun = True
            _show_plan(runs)
        done, failed = (sum(r.state == state for r in runs) for state in ENDED)
        self.bars.update(
            self.study,
            total=sum(r.steps for r in runs),
            completed=_steps_done(runs),
            status=f"{done} of {len(runs)} runs" + (f", {failed} failed" if failed else ""),
        )
        for r in runs:
            self._update_run(r)

    def _update_run(self, r: Tracked) -> None:
        if r.state != "running":
            if r.path in self.running:
                self.bars.remove_task(self.running.pop(r.path))
            return
        if r.path not in self.running:
            task = self.bars.add_task(r.label, total=r.steps, status="starting")
            self.running[r.path] = task
        if r.step:
            task = self.running[r.path]
            self.bars.update(task, completed=r.step, status=_latest(r.figures))
