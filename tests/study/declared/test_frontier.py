from pathlib import Path
from typing import Any

from policy_inertia.study.analysis.at_budget import (
    ACTIONS,
    at_budgets,
    core_comparisons,
    read_records,
    rival_comparisons,
)
from policy_inertia.study.analysis.constant_action import LABEL
from policy_inertia.study.declared.frontier import BUDGETS, STUDY
from policy_inertia.study.report.markdown import (
    DISCOUNTED,
    budget_tables,
    core_table,
    rival_table,
)

ROOT = Path(__file__).parents[3]


def test_all_methods_are_held_to_the_same_budgets() -> None:
    assert len(STUDY.experiments) == 4
    for experiment in STUDY.experiments:
        assert experiment.budgets == BUDGETS
        methods = {x.method for x in experiment.lines}
        dials = {"dial-dqn", "dial-sac", "gate-dqn", "gate-sac"}
        assert methods == {"dqn", "sac", "nsac", "dqn-ip", "sac-ip"} | dials
    configs: list[Any] = [
        x.config(STUDY.settings, 0).config
        for x in STUDY.experiments[0].lines
        if x.method in ("dial-dqn", "gate-dqn")
    ]
    assert [c.core.target_period for c in configs] == [500, 500]


def test_the_tables_in_the_docs_are_made_from_the_records_of_this_study() -> None:
    records = read_records(ROOT / "results" / "frontier" / "records.csv")
    assert {r.seed for r in records} == set(STUDY.seeds)
    assert {r.label for r in records} >= {x.label for _, x in STUDY.lines()} | {LABEL}
    assert {r.budget for r in records} == set(BUDGETS)
    rows, docs = at_budgets(records), (ROOT / "docs" / "frontier.md").read_text()
    for actions in ACTIONS:
        assert budget_tables(rows, actions) in docs
    assert budget_tables(rows, "greedy", DISCOUNTED) in docs
    assert rival_table(rival_comparisons(rows, "greedy")) in docs
    assert core_table(core_comparisons(rows, "greedy")) in docs
