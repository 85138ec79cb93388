"""What a run does while a tracker's service fails, and what it sends when it comes back."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.errors import InputError
from policy_inertia.training.loggers import JsonLines
from policy_inertia.training.trackers import service as module
from policy_inertia.training.trackers.service import Record, ServiceLog, TrackedRun


class Fake:
    """A service in memory that can be switched off.

    Attributes:
        up: Whether it answers.
        steps: The steps that it has, in the order in which they came.
        opened: The ids with which runs were opened.
        complete: How the last run ended.
    """

    def __init__(self) -> None:
        self.id, self.up = "run-7", True
        self.records: list[Record] = []
        self.opened: list[str | None] = []
        self.complete: bool | None = None
        self.tries = 0

    def open(self, run: TrackedRun, run_id: str | None, warn: Callable[[str], None]) -> "Fake":
        self._answer()
        self.opened.append(run_id)
        return self

    def send(self, records: Sequence[Record]) -> None:
        self._answer()
        self.records += records

    def finish(self, complete: bool) -> None:
        self._answer()
        self.complete = complete

    def _answer(self) -> None:
        self.tries += 1
        if not self.up:
            raise ConnectionError("refused\nby the host")

    @property
    def steps(self) -> list[int]:
        return [record.step for record in self.records]


FIGURES: dict[str, Any] = {"eval/return": 2.5, "train/loss": float("nan"), "eval/crash_rate": None}


class Logs:
    """The logs of one run: `metrics.jsonl` and the service's."""

    def __init__(self, fake: Fake, folder: Path, size: int = 0) -> None:
        self.warnings: list[str] = []
        self.lines = JsonLines(folder, size)
        run = TrackedRun(folder, {"steps": 3})
        self.tracker = ServiceLog("fake", fake.open, run, self.warnings.append)

    def log(self, *steps: int) -> None:
        for step in steps:
            self.lines.log(step, FIGURES, 1.0)
            self.tracker.log(step, FIGURES, 100.0)


def test_figures_that_are_numbers_are_sent_with_their_step_and_the_speed(tmp_path: Path) -> None:
    fake = Fake()
    logs = Logs(fake, tmp_path)
    logs.log(0, 2)
    logs.tracker.close()
    assert fake.records == [Record(s, {"eval/return": 2.5, "time/fps": 100.0}) for s in (0, 2)]
    assert fake.complete is False
    assert logs.warnings == []


def test_last_step_makes_a_run_complete(tmp_path: Path) -> None:
    fake = Fake()
    logs = Logs(fake, tmp_path)
    logs.log(0, 3)
    logs.tracker.close()
    assert fake.complete is True


@pytest.mark.parametrize("up_at_first", [True, False])
def test_service_that_goes_away_is_one_warning_and_what_waits_is_sent_later(
    up_at_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    fake = Fake()
    fake.up = up_at_first
    logs = Logs(fake, tmp_path)
    fake.up = False
    logs.log(0, 1)
    assert fake.steps == []
    (sentence,) = logs.warnings
    assert sentence.startswith("fake cannot be reached (refused): training goes on")
    assert "--resume --log fake" in sentence
    fake.up = True
    logs.log(2)
    assert fake.steps == [0, 1, 2]
    assert len(logs.warnings) == 1


def test_service_that_is_away_is_asked_again_only_after_a_pause_and_at_the_end(
    tmp_path: Path,
) -> None:
    fake = Fake()
    fake.up = False
    logs = Logs(fake, tmp_path)
    logs.log(*range(3))
    assert fake.tries == 1
    fake.up = True
    logs.tracker.close()
    assert fake.steps == [0, 1, 2]


def test_resumed_run_sends_what_is_missing_and_nothing_twice(tmp_path: Path) -> None:
    fake = Fake()
    first = Logs(fake, tmp_path)
    first.log(0)
    size = first.lines.size  # the checkpoint
    first.log(1)
    fake.up = False
    first.tracker._service = None
    second = Logs(fake, tmp_path, size)  # resumed, while the service is away
    second.log(1, 2)
    second.tracker.close()
    assert fake.steps == [0, 1]
    assert len(second.warnings) == 1
    fake.up = True
    third = Logs(fake, tmp_path, second.lines.size)  # and once more, only to send
    third.tracker.close()
    assert fake.steps == [0, 1, 2]
    assert fake.opened == [None, "run-7"]


def test_tracker_of_a_resumed_run_gets_the_evaluations_before_it(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path)
    lines.log(0, FIGURES, 1.0)
    lines.log(1, FIGURES, 1.0)
    fake = Fake()
    Logs(fake, tmp_path, lines.size).log(2)
    assert fake.steps == [0, 1, 2]


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": 2, "id": 3}', '{"format": 2, "id": "x", "step": "one"}', "[]"]
)
def test_damaged_state_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "fake.json").write_text(text)
    with pytest.raises(InputError) as error:
        Logs(Fake(), tmp_path)
    assert "fake.json" in str(error.value)
    assert "\n" not in str(error.value)
