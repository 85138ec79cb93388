"""`metrics.csv`: a table with every figure."""

import csv
from pathlib import Path
from typing import Any

from policy_inertia.training.loggers import JsonLines
from policy_inertia.training.trackers.csv_log import CsvLog
from policy_inertia.training.trackers.service import TrackedRun

FIRST: dict[str, Any] = {"eval/return": 2.5, "eval/crash_rate": None}
LATER: dict[str, Any] = {"rollout/return": 1.0, "eval/return": float("nan")}


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_figure_that_comes_later_is_a_column_of_all_rows(tmp_path: Path) -> None:
    log = CsvLog(TrackedRun(tmp_path, {}))
    log.log(0, FIRST, 9.0)
    log.log(8, LATER, 9.0)
    log.log(16, LATER, 9.0)
    empty = {"eval/return": "", "eval/crash_rate": ""}
    assert rows(tmp_path) == [
        {"step": "0", "eval/return": "2.5", "eval/crash_rate": "", "rollout/return": ""},
        {"step": "8", "rollout/return": "1.0", **empty},
        {"step": "16", "rollout/return": "1.0", **empty},
    ]


def test_resumed_run_has_each_step_once(tmp_path: Path) -> None:
    lines, log = JsonLines(tmp_path), CsvLog(TrackedRun(tmp_path, {}))
    for step in (0, 8, 16):
        if step == 16:
            size = lines.size
        lines.log(step, FIRST, 9.0)
        log.log(step, FIRST, 9.0)
    JsonLines(tmp_path, size)  # the run goes on from step 8
    log = CsvLog(TrackedRun(tmp_path, {}))
    log.log(16, LATER, 9.0)
    assert [row["step"] for row in rows(tmp_path)] == ["0", "8", "16"]
    assert [row["rollout/return"] for row in rows(tmp_path)] == ["", "", "1.0"]
