import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.cli import progress, stages, view
from policy_inertia.cli.view import PlainConsole

FIGURES = {"eval/return": 123.45, "eval/oscillation_ratio": 0.25}
DIAL = {
    f"dial/{name}_at_{share}": value
    for share, values in (("0", (123.45, 0.25)), ("0.1", (99, 0.1)), ("1", (-7, 0)))
    for name, value in zip(("return", "oscillation_ratio"), values, strict=True)
}
LIMIT = {"limit/return_at_0.1": 80.0, "limit/oscillation_ratio_at_0.1": 0.09}
PLAN = "{} of {} runs to do, {} steps in all; the first evaluations show how long it takes"


@dataclass
class FakeRun:
    """A run of a study as the progress bars see it."""

    label: str
    state: str = "waiting"
    step: int = 0
    tries: int = 1
    error: str = ""
    figures: dict[str, Any] = field(default_factory=lambda: FIGURES)

    @property
    def path(self) -> Path:
        return Path(self.label)

    @property
    def steps(self) -> int:
        return 100


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal shows."""
    text = io.StringIO()
    terminal = PlainConsole(file=text, force_terminal=True, width=160)
    for module in (progress, stages, view):
        monkeypatch.setattr(module, "out", terminal)
    return text


def test_training_bar_shows_speed_and_the_newest_evaluation(screen: io.StringIO) -> None:
    with progress.training_progress(1_000, quiet=False) as update:
        update(0, {}, 0.0)
        update(500, FIGURES, 1234.0)
    text = screen.getvalue()
    assert "1,234 steps/s  return 123.45  oscillation ratio 0.250" in text
    assert "500/1,000" in text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            DIAL,
            "return, oscillation ratio: 123.45, 0.250 at price 0; 99.00, 0.100 at 10% of the "
            "largest price; -7.00, 0.000 at 100% of the largest price",
        ),
        (
            LIMIT,
            "return, oscillation ratio: 123.45, 0.250 without a limit; 80.00, 0.090 at 0.1 "
            "switches per step",
        ),
    ],
)
def test_progress_line_says_what_its_numbers_are(
    figures: dict[str, Any], text: str, screen: io.StringIO
) -> None:
    with progress.training_progress(1_000, quiet=True) as update:
        update(100, FIGURES | figures, 10.0)
    assert screen.getvalue() == f"step       100  {text}  10 steps/s\n"


def test_quiet_training_prints_one_line_for_each_evaluation(screen: io.StringIO) -> None:
    with progress.training_progress(1_000, quiet=True) as update:
        for step in (100, 200, 300):
            update(step, FIGURES, 10.0)
        update(400, dict(FIGURES), 10.0)
    lines = screen.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["100", "400"]


def test_stages_are_shown_one_after_the_other(screen: io.StringIO) -> None:
    with stages.staged_progress(1_000, quiet=False) as shown:
        shown.start_training()
        assert "compiling" in screen.getvalue()
        shown.train(1_000, FIGURES, 10.0)
        shown.watch("calibrating", 0, 8)
        before = len(screen.getvalue())
        shown.watch("calibrating", 3, 8)
    text = screen.getvalue()
    assert "1,000/1,000" in text
    assert "3/8" in text
    assert "training" not in text[before:]


def test_study_bars_count_runs_and_show_those_under_way(screen: io.StringIO) -> None:
    runs = [FakeRun("first", "done"), FakeRun("second", "running", 40), FakeRun("third", "failed")]
    with progress.study_progress(quiet=False) as update:
        update(runs)  # type: ignore[arg-type]
        assert "second" in screen.getvalue()
        runs[1].state = "done"
        update(runs)  # type: ignore[arg-type]
    text = screen.getvalue()
    assert "1 of 3 runs, 1 failed" in text
    assert "2 of 3 runs, 1 failed" in text


def test_quiet_study_prints_each_end_and_failure_once(screen: io.StringIO) -> None:
    runs = [FakeRun("first", "running"), FakeRun("second", error="no memory")]
    with progress.study_progress(quiet=True) as update:
        update(runs)  # type: ignore[arg-type]
        runs[0].state = "done"
        runs[1].state = "failed"
        for _ in range(2):
            update(runs)  # type: ignore[arg-type]
    assert screen.getvalue().splitlines() == [
        PLAN.format(2, 2, 200),
        "0/2  second  failed once: no memory",
        "2/2  first  return 123.45  oscillation ratio 0.250",
        "2/2  second  failed: no memory",
    ]


@pytest.mark.parametrize("quiet", [True, False])
def test_study_says_at_once_what_is_to_be_done(quiet: bool, screen: io.StringIO) -> None:
    with progress.study_progress(quiet) as update:
        for _ in range(2):
            update([FakeRun("a", "done"), FakeRun("b", "running")])  # type: ignore[list-item]
    assert screen.getvalue().count(PLAN.format(1, 2, 100)) == 1


def test_lines_of_a_study_tell_the_time_left_at_the_first_sign_and_then_each_minute(
    screen: io.StringIO,
) -> None:
    times = iter([0.0, 0.0, 5.0, 10.0, 30.0, 70.0, 300.0])  # the first is the start
    lines = progress._StudyLines(lambda: next(times))
    runs = [FakeRun("a", "done", 100, tries=0), FakeRun("b", "running"), FakeRun("c", step=0)]
    for runs[1].step in (0, 0, 10, 20, 50, 99):
        lines.update(runs)  # type: ignore[arg-type]
    assert screen.getvalue().splitlines()[1:] == [
        "37% of all steps, 1 runs under way, about 3.2 minutes left",
        "50% of all steps, 1 runs under way, about 3.5 minutes left",
        "66% of all steps, 1 runs under way, about 5.1 minutes left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 seconds"), (119, "119 seconds"), (120, "2.0 minutes"), (3_000, "50 minutes"),
     (7_300, "2.0 hours"), (90_000, "25 hours")],
)  # fmt: skip
def test_time_is_told_in_a_unit_that_suits_it(seconds: float, text: str) -> None:
    assert progress._span(seconds) == text


def test_counting_is_silent_when_quiet(screen: io.StringIO) -> None:
    with progress.counting("checking", 2, quiet=True) as update:
        update(1, 2, "a part")
    assert not screen.getvalue().strip()
    with progress.counting("checking", 2) as update:
        update(1, 2, "a part")
    assert "a part" in screen.getvalue()


def test_labels_and_errors_of_runs_are_shown_as_they_are(screen: io.StringIO) -> None:
    runs = [FakeRun("x[/b]", "running"), FakeRun("[lr=1]", error="no [/x]: \x1b[2J")]
    for quiet in (True, False):
        with progress.study_progress(quiet) as update:
            update(runs)  # type: ignore[arg-type]
    with progress.counting("t[/b]", 2) as count:
        count(1, 2, "[lr=1] :smile:")
    text = screen.getvalue()
    for part in ("x[/b]", "[lr=1]  failed once: no [/x]: \\x1b[2J", "t[/b]", "[lr=1] :smile:"):
        assert part in text
