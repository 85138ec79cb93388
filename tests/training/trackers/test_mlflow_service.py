"""MLflow: a real server on a SQLite file, no server, and a server that does not answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import train
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.trackers import service
from tests.support import mlflow_server
from tests.support.runs import REPRODUCIBLE
from tests.training.trackers.conftest import TINY

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("flask")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on a database of its own."""
    database = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    process = subprocess.Popen(
        [sys.executable, mlflow_server.__file__, str(database)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    address = f"http://127.0.0.1:{int(process.stdout.readline())}"
    mlflow.MlflowClient(address).search_experiments()  # the first request makes the database
    yield address
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def _no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def tracked(folder: Path) -> str:
    return str(json.loads((folder / "mlflow.json").read_text())["id"])


def steps(client: Any, run_id: str, name: str = "eval/return") -> list[int]:
    return [metric.step for metric in client.get_metric_history(run_id, name)]


def test_server_has_the_settings_and_every_figure_of_a_run_that_was_resumed(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    out = tmp_path / "calm"
    train("nsac", "CartPole-v1", out, log=["mlflow"], **TINY)
    client = mlflow.MlflowClient(server)
    run = client.get_run(tracked(out))
    assert run.info.run_name == "calm"
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "policy-inertia"
    assert run.data.params["method"] == "nsac"
    assert run.data.params["config.core.temperature"] == "0.1"
    last = {k: v for k, v in read_metrics(out)[-1].items() if v is not None and k != "step"}
    assert last.items() <= run.data.metrics.items()
    train("nsac", "CartPole-v1", out, log=["mlflow"], resume=True, **{**TINY, "steps": 96})
    assert tracked(out) == run.info.run_id
    assert steps(client, run.info.run_id) == [0, 32, 64, 96]
    train("nsac", "CartPole-v1", tmp_path / "second", log=["mlflow"], **TINY)
    assert len(client.search_runs([run.info.experiment_id])) == 2


def test_unreachable_server_is_one_warning_and_the_training_is_the_same(
    server: str, free_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PAUSE", 0.0)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "elsewhere")
    with pytest.warns(UserWarning, match="mlflow cannot be reached") as warnings:
        train("dqn", "CartPole-v1", tmp_path / "run", log=["mlflow"], **TINY)
    assert len(warnings) == 1
    train("dqn", "CartPole-v1", tmp_path / "alone", **TINY)
    for name in REPRODUCIBLE:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    # nothing is lost: the same run sends everything when there is a server
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    train("dqn", "CartPole-v1", tmp_path / "run", log=["mlflow"], resume=True, **TINY)
    client = mlflow.MlflowClient(server)
    run = client.get_run(tracked(tmp_path / "run"))
    assert steps(client, run.info.run_id) == [0, 32, 64]
    assert client.get_experiment(run.info.experiment_id).name == "elsewhere"


def test_another_server_gets_a_run_of_its_own_and_a_database_needs_no_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    out = tmp_path / "run"
    train("dqn", "CartPole-v1", out, log=["mlflow"], **TINY)
    first = tracked(out)
    database = f"sqlite:///{tmp_path}/own.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database)
    train("dqn", "CartPole-v1", out, log=["mlflow"], resume=True, **{**TINY, "steps": 96})
    assert tracked(out) != first
    assert steps(mlflow.MlflowClient(database), tracked(out)) == [0, 32, 64, 96]
