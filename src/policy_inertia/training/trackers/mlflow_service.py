"""MLflow: the server or database that MLFLOW_TRACKING_URI names."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from policy_inertia.training.trackers.service import PROJECT, Record, TrackedRun

MOST_PARAMETERS, MOST_METRICS, LONGEST_VALUE = 100, 1_000, 500
"""MLflow's limits for one request, and for the text of one parameter in its older versions."""
IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""MLflow itself would try for minutes, in which the training stands still."""


class MLflowRun:
    """A run of an MLflow server."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client, self.id = client, run_id

    def send(self, records: Sequence[Record]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(k, v, now, r.step) for r in records for k, v in r.figures.items()]
        with _impatient():
            for start in range(0, len(metrics), MOST_METRICS):
                self._client.log_batch(self.id, metrics[start : start + MOST_METRICS])

    def finish(self, complete: bool) -> None:
        with _impatient():
            self._client.set_terminated(self.id, "FINISHED" if complete else "KILLED")


def open_mlflow(run: TrackedRun, run_id: str | None, warn: Callable[[str], None]) -> MLflowRun:
    """Open a run in the experiment that MLFLOW_EXPERIMENT_NAME names, `policy-inertia` by default.

    Args:
        run: The run to open.
        run_id: The run to go on with; a new one is begun if the server does not have it.
        warn: Not used: every failure is raised.
    """
    from mlflow import MlflowClient

    with _impatient():
        client = MlflowClient()
        if run_id is not None and _has(client, run_id):
            client.update_run(run_id, "RUNNING")
            return MLflowRun(client, run_id)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
        new = client.create_run(experiment, run_name=run.name).info.run_id
        _log_parameters(client, new, flat(run.settings))
        return MLflowRun(client, new)


def _has(client: Any, run_id: str) -> bool:
    """Whether the server has a run: it may be another server than last time."""
    from mlflow.exceptions import MlflowException

    try:
        client.get_run(run_id)
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            return False
        raise
    return True


def _log_parameters(client: Any, run_id: str, values: dict[str, Any]) -> None:
    from mlflow.entities import Param

    parameters = [Param(name, str(value)[:LONGEST_VALUE]) for name, value in values.items()]
    for start in range(0, len(parameters), MOST_PARAMETERS):
        client.log_batch(run_id, params=parameters[start : start + MOST_PARAMETERS])


def flat(settings: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Settings without tables inside them: {"config": {"mu0": 0}} becomes {"config.mu0": 0}."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            values |= flat(value, f"{before}{name}.")
        else:
            values[f"{before}{name}"] = value
    return values


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """Let MLflow give up soon, unless its own variables say how patient it is."""
    added = {name: value for name, value in IMPATIENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
