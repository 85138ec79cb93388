"""The longer round of limits on simple Two-Way, and what its page says of it."""

import json
import operator
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.study.analysis.at_budget import read_records
from policy_inertia.study.declared.limit import BUDGETS
from policy_inertia.study.declared.limit import STUDY as FIRST
from policy_inertia.study.declared.limit_two_way import STUDY
from policy_inertia.study.report.markdown import kept_table
from policy_inertia.study.run_records import Records, read_record

ROOT = Path(__file__).parents[3]
RECORDS = ROOT / "results" / "limit-two-way"
EDGES = ROOT / "src" / "policy_inertia" / "planner" / "edges"
PAGE = ROOT / "docs" / "limits-two-way.md"


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    lines = [line for experiment in STUDY.experiments for line in experiment.lines]
    assert [line.label for line in lines] == ["limit", "twin critics", "DQN", "dial by price"]
    configs = [line.config(STUDY.settings, 125) for line in lines]
    assert len({(c.steps, c.batch_size, c.gamma, c.envs) for c in configs}) == 1
    controllers: list[Any] = [c.config for c in configs if c.config.traits.nested]
    assert len({(c.pessimistic, c.target_rate) for c in controllers}) == 1
    learners: list[Any] = [c.config for c in configs] + [c.core for c in controllers]
    same = {(c.learning_rate, c.hidden, c.train_interval, c.huber, c.averaged) for c in learners}
    assert len(same) == 1
    assert all(experiment.limits == BUDGETS for experiment in STUDY.experiments)
    assert not {*STUDY.seeds} & {*FIRST.seeds}
    assert min(STUDY.seeds) > 124


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(RECORDS)
    runs = [r for r in STUDY.runs(Path("runs/x")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []


def test_what_the_page_says_are_the_means_of_the_runs() -> None:
    files: Any = map(read_record, RECORDS.rglob("*.json"))
    rows = [record for record in files if record.config["method"] == "limit-dqn"]
    assert sorted(record.config["seed"] for record in rows) == list(STUDY.seeds)
    page = " ".join(PAGE.read_text().split())
    for budget in ("0.1", "0.15"):
        within = [record.tuned_limits[budget] for record in rows]
        returns, crashes, xi = (
            np.mean([w["greedy"][name] for w in within])
            for name in ("return", "crash_rate", "oscillation_ratio")
        )
        sentence = f"{returns:.1f} with {crashes:.3f} crashes within {budget}"
        assert f"{sentence}, at a measured oscillation of {xi:.3f}" in page
        assert all(w["violations"] == 0 for w in within)
    free = np.mean([record.result.greedy["return"] for record in rows])
    assert f"Without a limit it has {free:.1f}" in page


def test_the_page_says_how_many_cells_are_above_their_budget() -> None:
    assert kept_table(read_records(RECORDS / "records.csv")) in PAGE.read_text()


def test_what_the_page_says_of_the_planner_are_its_plans() -> None:
    edge = json.loads((EDGES / "TwoWay-v0,scenario=simple.json").read_text())
    page, points = PAGE.read_text(), {}
    for most in (1, 2, 3, 4):
        best = []
        for plan in edge["plans"]:
            switches = [sum(map(operator.ne, a, a[1:])) for a in plan["actions"]]
            rows = zip(plan["crashed"], plan["returns"], switches, plan["actions"], strict=True)
            # no crash if there is a way, then the highest return
            best.append(max((not c, r, n / len(a), a) for c, r, n, a in rows if n <= most))
        survived, returns, ratios = (np.mean([row[i] for row in best]) for i in range(3))
        points[most] = returns, ratios
        assert f"| {most} | {returns:.1f} | {ratios:.3f} | {1 - survived:.2f} |" in page
    two, three = points[2], points[3]
    by_chance = np.interp(0.10, [two[1], three[1]], [two[0], three[0]])
    assert f"by chance, have {by_chance:.1f}." in page
    assert f"{17 / by_chance:.0%} of what the planner has by chance" in page
