from pathlib import Path

from policy_inertia.study.analysis import at_budget as m
from policy_inertia.study.analysis import constant_action as constant
from policy_inertia.study.declared import STUDIES
from policy_inertia.study.declared.frontier import BUDGETS


def test_all_rivals_are_held_to_the_same_budgets():
    study = STUDIES["frontier"]
    assert len(study.experiments) == 4
    for experiment in study.experiments:
        assert experiment.budgets == BUDGETS
        methods = {x.method for x in experiment.lines}
        assert methods == {"dqn", "sac", "nsac", "dial-dqn", "dial-sac", "dqn-ip", "sac-ip"}
        acts = {
            x.config(study.settings, 0).config.act for x in experiment.lines if "dial" in x.label
        }
        assert acts == {"gate", "full"}
    cores = {
        x.config(study.settings, 0).config.core.target_period
        for x in study.experiments[0].lines
        if x.method == "dial-dqn"
    }
    assert cores == {500}


def test_tables_in_the_docs_are_made_of_the_records_of_this_study():
    root, study = Path(__file__).parents[2], STUDIES["frontier"]
    kept = m.read_records(root / "results" / "frontier" / "records.csv")
    assert {r.seed for r in kept} == set(study.seeds)
    assert {r.label for r in kept} >= {x.label for _, x in study.lines()} | {constant.LABEL}
    assert {r.budget for r in kept} == set(BUDGETS)
    rows, docs = m.matched(kept), (root / "docs" / "frontier.md").read_text()
    for way in m.WAYS:
        assert m.markdown(rows, way) in docs
    assert m.markdown(rows, "greedy", m.WORTH) in docs
    assert m.verdicts(rows, "greedy") in docs
    assert m.own_cores(rows, "greedy") in docs
