from pathlib import Path

from policy_inertia.study import STUDIES, Results
from policy_inertia.study.frontier import BUDGETS, matched
from policy_inertia.study.results import Experiment, Series


def line(label, method, kept) -> Series:
    n = len(kept)
    empty: list = [[] for _ in range(n)]
    return Series(label, "T", method, "E", {}, list(range(n)), [], empty, empty, {}, {0.1: kept})


def kept(mean_return, calibrated, oscillation=0.09, crashes=0.0):
    greedy = {"return": mean_return, "oscillation_ratio": oscillation, "crash_rate": crashes}
    return {"greedy": greedy, "calibrated_return": calibrated}


def found(*series):
    experiment = Experiment("e", "E", "", False, list(series))
    return matched(Results("t", "", "", {}, Path(), [experiment], []))


def test_seeds_that_cannot_keep_the_budget_are_counted_and_left_out():
    (row,) = found(
        line("dqn", "dqn", [kept(3.0, 3), {"unreachable": "no"}, kept(5.0, 5, crashes=0.5)])
    )
    assert (row.method, row.seeds, row.reached) == ("dqn", 3, 2)
    assert row.mean_return.value == 4.0
    assert row.crash_rate.value == 0.25
    (none,) = found(line("dqn", "dqn", [{"unreachable": "no"}]))
    assert (none.reached, none.mean_return) == (0, None)


def test_size_of_a_penalty_is_chosen_by_calibration_and_not_by_what_is_reported():
    small = line("dqn-ip 0.02", "dqn-ip", [kept(9.0, 1.0), kept(1.0, 2.0)])
    large = line("dqn-ip 0.2", "dqn-ip", [kept(4.0, 5.0), {"unreachable": "no"}])
    (row,) = found(small, large)
    assert (row.method, row.reached) == ("dqn-ip", 2)
    assert row.mean_return.value == (4.0 + 1.0) / 2


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
