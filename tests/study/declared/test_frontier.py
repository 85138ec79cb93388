from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.study.analysis.at_budget import (
    ACTIONS,
    Record,
    at_budgets,
    read_records,
)
from policy_inertia.study.analysis.best_rivals import (
    core_comparisons,
    rival_comparisons,
)
from policy_inertia.study.analysis.constant_action import LABEL
from policy_inertia.study.analysis.paired import standing_differences
from policy_inertia.study.declared.frontier import LAGRANGIAN, STUDY
from policy_inertia.study.declared.limit import BUDGETS
from policy_inertia.study.declared.limit import STUDY as LIMIT
from policy_inertia.study.report.markdown import (
    DISCOUNTED,
    budget_tables,
    core_table,
    rival_table,
)
from policy_inertia.study.run_records import Records

ROOT = Path(__file__).parents[3]
RIVALS = {"SAC", "NSAC", "NSAC, closed form", "TempoRL"}


def test_the_lines_of_the_study_of_limits_and_all_rivals_are_there() -> None:
    assert len(STUDY.experiments) == 4
    for experiment in STUDY.experiments:
        assert experiment.budgets == experiment.limits == BUDGETS
        (limit,) = [e for e in LIMIT.experiments if e.name == experiment.name]
        own = experiment.lines[len(limit.lines) :]
        assert experiment.lines[: len(limit.lines)] == limit.lines
        labels = {line.label for line in own if line.method != "lagrangian-dqn"}
        assert labels == RIVALS
        task = experiment.lines[0].task
        budgets = [line.settings["budget"] for line in own if line.method == "lagrangian-dqn"]
        assert budgets == (list(BUDGETS) if task in LAGRANGIAN else [])


def test_all_lines_have_the_same_steps_updates_network_and_learning_rate() -> None:
    for experiment in STUDY.experiments:
        configs = [line.config(STUDY.settings, 105) for line in experiment.lines]
        same = {(c.steps, c.batch_size, c.gamma, c.envs, c.buffer_size) for c in configs}
        assert len(same) == 1
        assert {c.steps for c in configs} == {400_000}
        learners: list[Any] = [c.config for c in configs]
        learners += [c.core for c in learners if hasattr(c, "core")]
        for setting in ("learning_rate", "hidden", "train_interval", "huber"):
            assert len({getattr(c, setting) for c in learners}) == 1, setting
        rates = {c.target_rate for c in learners if hasattr(c, "target_rate")}
        assert len(rates) == 1


def test_runs_of_the_study_of_limits_are_not_trained_again() -> None:
    records = Records(ROOT / "results" / "frontier", further=(ROOT / "results" / "limit",))
    assert STUDY.shared == ("limit",)
    assert STUDY.seeds == LIMIT.seeds
    shared = [r for r in STUDY.runs(Path("runs/frontier")) if _is_shared(r.label)]
    assert len(shared) == 85
    assert [r.label for r in shared if not records.has(r)] == []


def _is_shared(label: str) -> bool:
    return not any(f", {rival}, seed" in label for rival in RIVALS) and "Lagrangian" not in label


def test_the_tables_of_round_three_are_made_from_its_records() -> None:
    records = read_records(ROOT / "results" / "frontier-third" / "records.csv")
    assert {r.seed for r in records} == set(range(20, 25))
    assert {r.label for r in records} >= {"dqn", "nsac", "dial-dqn, full", LABEL}
    assert {r.budget for r in records} == set(BUDGETS)
    rows, docs = at_budgets(records), (ROOT / "docs" / "frontier.md").read_text()
    for actions in ACTIONS:
        assert budget_tables(rows, actions) in docs
    assert budget_tables(rows, "greedy", DISCOUNTED) in docs
    assert rival_table(rival_comparisons(rows, "greedy")) in docs
    assert core_table(core_comparisons(rows, "greedy")) in docs


def test_what_the_page_says_of_the_defects_of_round_three_is_measured() -> None:
    records = read_records(ROOT / "results" / "frontier-third" / "records.csv")
    held = [r for r in records if r.actions == "greedy" and r.figures]
    page = " ".join((ROOT / "docs" / "frontier.md").read_text().split())

    def above(own: list[Record]) -> str:
        return f"{np.mean([r.figures['oscillation_ratio'] > r.budget for r in own]):.0%}"

    dqn, sac = (above([r for r in held if r.label == f"dial-{x}, full"]) for x in ("dqn", "sac"))
    assert f"{dqn} of the cells (a seed at a budget) of dial-dqn, full are above" in page
    assert f"and {sac} of those of dial-sac, full" in page
    assert f"but the one action it is {above([r for r in held if r.label != LABEL])}" in page
    compared = rival_comparisons(at_budgets(records), "greedy")
    dial = [c for c in compared if c.ours.name == "dial-dqn, full"]
    assert len(dial) == 16
    assert not any(standing_differences([(c.ours, c.best, c.return_) for c in dial]))
    assert not any(standing_differences([(c.ours, c.best, c.crash_rate) for c in dial]))
    assert not any(standing_differences([(c.ours, c.safest, c.safest_crash_rate) for c in dial]))
