"""Extra evaluations of runs with Box actions: budgets of movement, from the run to the tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from policy_inertia import Policy
from policy_inertia.metrics.measures import FLUCTUATION
from policy_inertia.study.analysis.at_budget import budget_measure, budget_records
from policy_inertia.study.analysis.constant_action import RANDOM, constant_action_records
from policy_inertia.study.folder import StudyFolder, collect, read_extra
from policy_inertia.study.plan import Experiment, Line, Study, Task
from policy_inertia.study.report.control_page import control_tables
from policy_inertia.study.run import job
from policy_inertia.study.run_records import Records, recorded_results

ENV = "TwoJoints-v0"
SMALL: dict[str, Any] = {
    "steps": 60,
    "envs": 2,
    "learning_starts": 50,
    "batch_size": 8,
    "eval_every": 60,
    "eval_episodes": 1,
    "final_episodes": 2,
    "calibration_episodes": 2,
}
TINY: dict[str, Any] = {"hidden": (8,)}
TASK = Task("joints", ENV)
LINES = (
    Line("SAC", "sac", TASK, TINY),
    Line("hold 3", "sac-repeat", TASK, {**TINY, "repeats": (3,)}),
    Line("dial", "dial-sac", TASK, {**TINY, "core": TINY}),
)
STUDY = Study(
    "tiny",
    "Movement",
    (Experiment("joints", "joints", LINES, budgets=(1.0, 0.002)),),
    seeds=(0,),
    settings=SMALL,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    gym.register(ENV, "tests.support.point_mass:TwoJoints")
    folder = tmp_path_factory.mktemp("control")
    StudyFolder(folder, STUDY).close()
    for run in STUDY.runs(folder):
        assert job.attempt(job.job_of(run)).error is None
    yield folder
    del gym.registry[ENV]


def test_policy_is_left_alone_or_held_by_its_best_filter(finished: Path) -> None:
    sac, hold, dial = STUDY.runs(finished)
    for run in (sac, hold):
        levels = read_extra(run.path, run.steps, "budgets")
        assert levels["1.0"]["filter"] == "none"
        greedy: Any = levels["0.002"].get("greedy")
        if greedy is not None:  # a tight budget may be out of reach of limits
            assert levels["0.002"]["filter"] != "none"
            assert greedy[FLUCTUATION.name] < 0.01
    assert "greedy" in read_extra(sac.path, sac.steps, "budgets")["0.002"]
    prices = read_extra(dial.path, dial.steps, "budgets")
    assert "filter" not in prices["1.0"]
    core = read_extra(dial.path, dial.steps, "core_budgets")
    assert core["1.0"]["filter"] == "none"
    assert Policy.load(dial.path).traits.dial


def test_tables_are_made_from_the_runs_and_random_actions(finished: Path) -> None:
    results = collect(finished)
    records = budget_records(results) + constant_action_records(results)
    assert budget_measure(records) is FLUCTUATION
    random = [r for r in records if r.label == RANDOM]
    assert {(r.budget, r.actions) for r in random} == {(1.0, "greedy"), (1.0, "sampled")}
    text = control_tables(STUDY, records)
    assert "**3 of 3 runs have a record**: joints 3 of 3." in text
    for name in ("SAC", "sac-repeat", "dial", "core of dial"):
        assert f"| {name} |" in text


def test_tables_are_made_while_only_some_runs_have_a_record(finished: Path, tmp_path: Path) -> None:
    records = Records(tmp_path, writable=True)
    for run in STUDY.runs(finished)[:2]:
        records.write(run)
    results = recorded_results(STUDY, records)
    rows = budget_records(results) + constant_action_records(results)
    text = control_tables(STUDY, rows)
    assert "**2 of 3 runs have a record**: joints 2 of 3." in text
    assert "| random actions |" in text
    assert "No run of the dial has a record yet." in text
