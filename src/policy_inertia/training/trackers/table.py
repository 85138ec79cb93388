"""The trackers by name. A tracker is a row."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policy_inertia.errors import InputError, nearest
from policy_inertia.training.loggers import Logger
from policy_inertia.training.trackers.csv_log import CsvLog
from policy_inertia.training.trackers.mlflow_service import open_mlflow
from policy_inertia.training.trackers.service import Open, ServiceLog, TrackedRun
from policy_inertia.training.trackers.wandb_service import open_wandb

ALWAYS = ("jsonl", "tensorboard")
"""Logs that every run has."""


@dataclass(frozen=True)
class Tracker:
    """One row: how the log of a run is opened, and the package that it needs.

    An optional extra has the package's name.
    """

    start: Callable[[TrackedRun, Callable[[str], None]], Logger]
    package: str = ""


def _service(name: str, open_run: Open) -> Tracker:
    return Tracker(lambda run, warn: ServiceLog(name, open_run, run, warn), name)


TRACKERS: dict[str, Tracker] = {
    "csv": Tracker(lambda run, warn: CsvLog(run)),
    "mlflow": _service("mlflow", open_mlflow),
    "wandb": _service("wandb", open_wandb),
}


def find_trackers(names: Sequence[str]) -> list[Tracker]:
    """Return the rows of these names, without the logs that every run has.

    Raises:
        InputError: A name is unknown, or its package is not installed.
    """
    rows = []
    for name in dict.fromkeys(names):
        if name in ALWAYS:
            continue
        if name not in TRACKERS:
            known = [*ALWAYS, *TRACKERS]
            raise InputError(f"there is no tracker '{name}'{nearest(name, known)}")
        package = TRACKERS[name].package
        if package and importlib.util.find_spec(package) is None:
            raise InputError(
                f"logging to {name} needs a package that is not installed: "
                f"pip install 'policy-inertia[{package}]'"
            )
        rows.append(TRACKERS[name])
    return rows


def open_trackers(
    names: Sequence[str], run: TrackedRun, warn: Callable[[str], None]
) -> list[Logger]:
    """Open the logs of a run at these trackers.

    Args:
        names: Names from `TRACKERS`, or of logs that every run has.
        run: The run.
        warn: Takes a sentence if a service cannot be reached; the training goes on.
    """
    return [tracker.start(run, warn) for tracker in find_trackers(names)]
