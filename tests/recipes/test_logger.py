"""The recipe for a logger, followed literally."""

import json
from pathlib import Path

import pytest

from tests.support.recipes import Follow


def test_a_logger_gets_the_figures_of_every_evaluation(
    follow: Follow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follow("A logger")
    rows = [line.split(",") for line in (tmp_path / "returns.csv").read_text().splitlines()]
    log = (tmp_path / "runs" / "logged" / "metrics.jsonl").read_text().splitlines()
    assert [int(step) for step, _ in rows] == [0, 1_000, 2_000]
    assert [float(value) for _, value in rows] == [json.loads(r)["eval/return"] for r in log]
