"""Weights & Biases in offline mode: what is written, and what happens without a service."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import train
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.trackers import wandb_service
from tests.training.trackers.conftest import TINY

wandb = pytest.importorskip("wandb")

BLOCK, HEADER = 32_768, 7


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings, keys or folders of the user; wandb's own process ends with the test."""
    for name in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    yield
    wandb.teardown()


def records(folder: Path) -> list[Any]:
    """The records of all offline runs in a run's folder: a log in LevelDB's format."""
    proto: Any = importlib.import_module("wandb.proto.wandb_internal_pb2")
    wandb.teardown()  # its own process writes what it has, and ends
    parsed: list[Any] = []
    for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        data, at, parts = path.read_bytes(), HEADER, b""
        while at + HEADER <= len(data):
            if BLOCK - at % BLOCK < HEADER:  # no header fits: the rest of a block is empty
                at += BLOCK - at % BLOCK
                continue
            size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            parts += data[at + HEADER : at + HEADER + size]
            at += HEADER + size
            if kind in (1, 4):  # a whole record, or the last part of one
                parsed.append(proto.Record.FromString(parts))
                parts = b""
    return parsed


def histories(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            (item.key or "/".join(item.nested_key)): json.loads(item.value_json)
            for item in record.history.item
        }
        for record in records(folder)
        if record.WhichOneof("record_type") == "history"
    ]


def test_offline_run_has_the_settings_and_the_figures_of_every_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    out = tmp_path / "calm"
    train("nsac", "CartPole-v1", out, log=["wandb"], **TINY)
    train("nsac", "CartPole-v1", out, log=["wandb"], resume=True, **{**TINY, "steps": 96})
    lines = histories(out)
    assert [line["_step"] for line in lines] == [0, 32, 64, 96]
    for line, known in zip(lines, read_metrics(out), strict=True):
        figures = {k: v for k, v in known.items() if v is not None and k != "step"}
        assert figures.items() <= line.items()
    runs = [r.run for r in records(out) if r.WhichOneof("record_type") == "run"]
    (run_id,) = {run.run_id for run in runs}  # the resumed run is the same run
    assert run_id == json.loads((out / "wandb.json").read_text())["id"]
    assert runs[0].project == "policy-inertia"
    assert runs[0].display_name == "calm"
    config = {item.key: json.loads(item.value_json) for item in runs[0].config.update}
    assert config["method"] == "nsac"
    assert config["config"]["core"]["temperature"] == 0.1


def test_no_key_is_one_warning_and_the_run_is_written_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with pytest.warns(UserWarning, match=r"wandb cannot be reached .*'wandb sync ") as warnings:
        train("dqn", "CartPole-v1", tmp_path / "run", log=["wandb"], **TINY)
    assert len(warnings) == 1
    assert [line["_step"] for line in histories(tmp_path / "run")] == [0, 32, 64]


def test_unreachable_service_is_one_warning_and_the_run_is_written_offline(
    free_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wandb_service, "PATIENCE", 1.0)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{free_port}")
    with pytest.warns(UserWarning, match="wandb cannot be reached") as warnings:
        train("dqn", "CartPole-v1", tmp_path / "run", log=["wandb"], **TINY)
    assert len(warnings) == 1
    assert [line["_step"] for line in histories(tmp_path / "run")] == [0, 32, 64]
