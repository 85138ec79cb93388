"""A run at a tracker's service: figures wait here while the service cannot be reached."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from policy_inertia.storage import FORMAT, finite, read_json, write_json
from policy_inertia.training.loggers import METRICS, read_metrics

PAUSE = 60.0
"""Seconds until a service that could not be reached is tried again."""
PROJECT = "policy-inertia"
"""The project or experiment of a run, unless the tracker's own variables name another."""


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker is told about a run."""

    folder: Path
    settings: dict[str, Any]
    """The run's settings as JSON."""

    @property
    def name(self) -> str:
        """The name that a tracker shows."""
        return self.folder.resolve().name


@dataclass(frozen=True)
class Record:
    """The figures of one evaluation that are numbers."""

    step: int
    figures: dict[str, float]


class Service(Protocol):
    """A run that a tracker has opened. Every method raises if the service cannot be reached."""

    id: str
    """The run's name at the service, with which it is opened again."""

    def send(self, records: Sequence[Record]) -> None:
        """Send the figures of evaluations, in the order of their steps."""

    def finish(self, complete: bool) -> None:
        """Close the run; `complete` says whether it has reached its last step."""


@dataclass(frozen=True)
class Sent:
    """The contents of the file that a tracker has in a run's folder, such as `mlflow.json`."""

    id: str | None = None
    step: int = -1
    """The newest step that the service has."""


Open = Callable[[TrackedRun, "str | None", Callable[[str], None]], Service]
"""Opens a run: a new one, or that of an id; the last argument takes a warning."""


class ServiceLog:
    """A logger that sends figures to a service.

    If the service cannot be reached, `warn` gets one sentence and the training goes on. The figures
    wait and are tried again later. A run that is resumed sends what the service does not have.
    """

    def __init__(
        self, name: str, open_run: Open, run: TrackedRun, warn: Callable[[str], None]
    ) -> None:
        self._name, self._open, self._run, self._warn = name, open_run, run, warn
        self._path = run.folder / f"{name}.json"
        known = self._path.exists()
        self._sent = read_json(self._path, Sent, "the state of a tracker") if known else Sent()
        self._waiting = [r for r in self._logged() if r.step > self._sent.step]
        self._newest = self._waiting[-1].step if self._waiting else self._sent.step
        self._service: Service | None = None
        self._warned = False
        self._next_try = 0.0
        self._try()  # now, so that a wrong address is known before the first evaluation

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        if step > self._newest:  # else the run was resumed before this step, which is sent
            self._newest = step
            self._waiting.append(Record(step, numbers({**figures, "time/fps": speed})))
        if time.monotonic() >= self._next_try:
            self._try()

    def close(self) -> None:
        if self._waiting:
            self._try()
        if self._service is not None:
            with contextlib.suppress(Exception):  # the figures are sent
                self._service.finish(self._newest >= self._run.settings["steps"])

    def _logged(self) -> list[Record]:
        """The evaluations in `metrics.jsonl`."""
        lines = [{**line} for line in read_metrics(self._run.folder)]
        return [Record(line.pop("step"), numbers(line)) for line in lines]

    def _try(self) -> None:
        """Send what waits; after a failure, wait for the next try."""
        try:
            if self._service is None:
                self._service = self._open(self._run, self._sent.id, self._warn)
                if self._service.id != self._sent.id:  # a new run: it has nothing yet
                    waiting = {r.step: r for r in (*self._logged(), *self._waiting)}
                    self._waiting = [waiting[step] for step in sorted(waiting)]
            if self._waiting:
                self._service.send(self._waiting)
        except Exception as error:
            self._next_try = time.monotonic() + PAUSE
            if not self._warned:
                self._warned = True
                self._warn(_failure(self._name, error, self._run.folder))
            return
        self._waiting = []
        self._sent = Sent(self._service.id, self._newest)
        write_json(self._path, {"format": FORMAT, **asdict(self._sent)})


def numbers(figures: dict[str, Any]) -> dict[str, float]:
    """The figures that have a value."""
    return {k: v for k, v in figures.items() if finite(v) is not None}


def _failure(name: str, error: Exception, folder: Path) -> str:
    reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
    return (
        f"{name} cannot be reached ({reason}): training goes on and tries again now and then; "
        f"{folder / METRICS} has all figures, and --resume --log {name} sends what is missing"
    )
