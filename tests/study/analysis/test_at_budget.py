import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.study.analysis.at_budget import (
    DISCOUNTED_RETURN,
    Actions,
    AtBudget,
    Record,
    at_budgets,
    budget_records,
    difference,
    discounted_return,
    read_records,
    write_records,
)
from policy_inertia.study.analysis.best_rivals import (
    compare_with_rivals,
    core_comparisons,
    rival_comparisons,
)
from policy_inertia.study.results import ExperimentResults, LineResults, Results

UNREACHABLE = {"unreachable": "no"}


def held(return_: float, calibrated: float, crashes: float = 0.0) -> dict[str, Any]:
    """The figures of a run that keeps the budget; sampled actions return one less."""
    greedy = {"return": return_, "oscillation_ratio": 0.09, "crash_rate": crashes}
    greedy |= {"length": 10.0, "termination_rate": crashes}
    sampled = {**greedy, "return": return_ - 1}
    return {"greedy": greedy, "sampled": sampled, "calibrated_return": calibrated}


def line(label: str, method: str, seeds: list[dict[str, Any]], **settings: Any) -> LineResults:
    n = len(seeds)
    empty: list[Any] = [[] for _ in range(n)]
    config = {"gamma": 0.9, "config": settings}
    return LineResults(
        label, "T", method, "E", config, list(range(n)), [], empty, empty, {}, {0.1: seeds}
    )


def records(*lines: LineResults) -> list[Record]:
    experiment = ExperimentResults("e", "E", "", False, list(lines))
    return budget_records(Results("t", "", "", {}, Path("study"), [experiment], []))


def rows(*lines: LineResults, actions: Actions = "greedy") -> list[AtBudget]:
    return [m for m in at_budgets(records(*lines)) if m.actions == actions]


def value(row: AtBudget, figure: str) -> float:
    estimate = row.estimate(figure)
    assert estimate is not None
    return estimate.value


def test_seeds_that_cannot_keep_the_budget_are_counted_and_left_out() -> None:
    (row,) = rows(line("dqn", "dqn", [held(3.0, 3), UNREACHABLE, held(5.0, 5, crashes=0.5)]))
    assert (row.name, row.seeds, list(row.records)) == ("dqn", 3, [0, 2])
    assert value(row, "return") == 4.0
    assert value(row, "crash_rate") == 0.25
    (none,) = rows(line("dqn", "dqn", [UNREACHABLE]))
    assert (none.records, none.estimate("return")) == ({}, None)


def test_a_dials_core_is_a_rival() -> None:
    dial = line("dial-dqn, gate", "dial-dqn", [held(5.0, 0)])
    dial = dataclasses.replace(dial, core_budgets={0.1: [held(4.0, 0)]})
    ours, core = rows(dial)
    assert (ours.name, core.name) == ("dial-dqn, gate", "core of dial-dqn, gate")
    (against_rivals,) = rival_comparisons([ours, core], "greedy")
    assert against_rivals.best is core
    (against_core,) = core_comparisons([ours, core], "greedy")
    assert against_core.ours is ours
    assert against_core.return_.value == 1.0


def test_greedy_and_sampled_actions_are_kept_apart() -> None:
    (row,) = rows(line("sac", "sac", [held(3.0, 3)]), actions="sampled")
    assert value(row, "return") == 2.0


def test_calibration_chooses_the_size_of_a_penalty_not_the_reported_return() -> None:
    small = line("dqn-ip 0.02", "dqn-ip", [held(9.0, -2.0), held(1.0, 2.0)])
    large = line("dqn-ip 0.2", "dqn-ip", [held(4.0, -1.0), UNREACHABLE])
    (row,) = rows(small, large)
    assert (row.name, row.seeds, len(row.records)) == ("dqn-ip", 2, 2)
    assert value(row, "return") == (4.0 + 1.0) / 2


def test_runs_that_are_trained_for_one_budget_each_are_one_policy() -> None:
    tight = line("Lagrangian DQN 0.05", "lagrangian-dqn", [held(3.0, 3.0), held(1.0, 1.0)])
    loose = line("Lagrangian DQN 0.1", "lagrangian-dqn", [held(4.0, 2.0), held(2.0, 2.0)])
    (row,) = rows(tight, loose)
    assert (row.name, row.seeds) == ("lagrangian-dqn", 2)
    assert value(row, "return") == (3.0 + 2.0) / 2


def test_a_difference_is_paired_by_seed_with_students_interval() -> None:
    ours = line("dial-dqn, gate", "dial-dqn", [held(5.0, 0), held(9.0, 0), held(1.0, 0)])
    theirs = line("dqn", "dqn", [held(4.0, 0), held(6.0, 0), UNREACHABLE])
    a, b = rows(ours, theirs)
    gap = difference(a, b, "return")  # 1 and 3: mean 2, deviation sqrt 2, t = 12.706
    assert gap is not None
    assert gap.value == 2.0
    assert gap.high == pytest.approx(2 + 12.7062 * math.sqrt(2) / math.sqrt(2), rel=1e-4)


def test_the_best_rival_has_the_highest_return_and_no_dial() -> None:
    ours = line("dial-dqn, gate", "dial-dqn", [held(5.0, 0, crashes=0.2)] * 2)
    other = line("dial-dqn, full", "dial-dqn", [held(8.0, 0)] * 2)
    good = line("dqn", "dqn", [held(4.0, 0, crashes=0.3)] * 2)
    safe = line("sac", "sac", [held(2.0, 0, crashes=0.1)] * 2)
    seldom = line("nsac", "nsac", [held(7.0, 0), UNREACHABLE])
    table = rows(ours, other, good, safe, seldom)
    against = compare_with_rivals(table, table[0])
    assert against is not None
    assert against.safest is not None
    assert against.crash_rate is not None
    assert against.safest_crash_rate is not None
    assert (against.best.name, against.safest.name) == ("dqn", "sac")
    assert against.return_.value == 1.0
    assert against.crash_rate.value == pytest.approx(-0.1)
    assert against.safest_crash_rate.value == pytest.approx(0.1)
    alone = rows(ours)
    assert compare_with_rivals(alone, alone[0]) is None


def test_a_dials_learner_with_a_fixed_price_is_a_rival() -> None:
    ours = line("dial", "dial-dqn", [held(5.0, 0)])
    learner = line("twin critics", "dial-dqn", [held(4.0, 0)], price=0.0)
    learner = dataclasses.replace(learner, tuned_limits={0.1: [held(3.0, 0)]})
    table = rows(ours, learner)
    assert [(m.name, m.dial) for m in table] == [
        ("dial", True),
        ("twin critics", False),
        ("twin critics, tuned in a bucket", False),
    ]
    (against,) = rival_comparisons(table, "greedy")
    assert (against.ours.name, against.best.name) == ("dial", "twin critics")


def test_a_policy_within_a_limit_is_no_rival_of_itself() -> None:
    ours = line("dial", "dial-dqn", [held(5.0, 0)])
    within = {0.1: [held(9.0, 0)]}
    ours = dataclasses.replace(ours, limits=within, tuned_limits=within)
    table = rows(ours, line("dqn", "dqn", [held(4.0, 0)]))
    compared = rival_comparisons(table, "greedy")
    assert {c.ours.name for c in compared} == {m.name for m in table if m.name != "dqn"}
    assert {c.best.name for c in compared} == {"dqn"}
    # records of earlier versions call the method of such rows "bucket"
    old = [dataclasses.replace(m, dial=m.name == "dial") for m in table]
    (against,) = rival_comparisons(old, "greedy")
    assert against.best.name == "dqn"


def test_the_discounted_return_is_the_one_worked_out_by_hand() -> None:
    """0.6 a step, and one step in twenty is the last: 0.6 (1 + 0.9 * 0.95 + ...) = 0.6 / 0.145."""
    assert discounted_return(6.0, 10.0, 0.5, 0.9) == pytest.approx(4.13793, rel=1e-5)
    assert discounted_return(6.0, 10.0, 0.0, 0.9) == pytest.approx(6.0)  # it never ends
    assert discounted_return(6.0, 1.0, 1.0, 0.9) == 6.0  # one step


def test_the_rival_with_the_best_discounted_return_may_have_a_lower_return() -> None:
    ours = line("dial-dqn, gate", "dial-dqn", [held(5.0, 0)] * 2)
    fast = line("sac", "sac", [held(6.0, 0, crashes=1.0)] * 2)
    steady = line("dqn", "dqn", [held(4.0, 0)] * 2)
    table = rows(ours, fast, steady)
    against = compare_with_rivals(table, table[0])
    assert against is not None
    assert against.most_valuable is not None
    assert against.discounted_return is not None
    assert (against.best.name, against.most_valuable.name) == ("sac", "dqn")
    assert against.discounted_return.value == pytest.approx(5.0 - 4.0)  # 10 steps, gamma 0.9


def test_records_survive_a_file(tmp_path: Path) -> None:
    counted = {**held(3.25, 3), "trials": 240, "violations": 0, "chosen_by": "upper bound"}
    written = records(line("dqn", "dqn", [counted, UNREACHABLE]))
    assert written[2] == Record("T", "dqn", "dqn", 1, 0.1, "greedy")
    write_records(tmp_path / "records.csv", written)
    read = read_records(tmp_path / "records.csv")
    assert [dataclasses.replace(r, figures={}) for r in read] == [
        dataclasses.replace(r, figures={}) for r in written
    ]
    for ours, theirs in zip(read, written, strict=True):
        assert ours.figures == pytest.approx(theirs.figures)
    assert read[0].figures[DISCOUNTED_RETURN] == pytest.approx(3.25)
    assert (read[0].figures["trials"], read[0].figures["violations"]) == (240, 0)
    assert (read[0].chosen_by, read[2].chosen_by) == ("upper bound", "")


def test_records_without_rule_trials_and_violations_are_read(tmp_path: Path) -> None:
    head = "task,label,method,seed,budget,actions,calibrated_return,return"
    (tmp_path / "old.csv").write_text(f"{head}\nT,dqn,dqn,1,0.1,greedy,3,4\n")
    (old,) = read_records(tmp_path / "old.csv")
    assert old == Record("T", "dqn", "dqn", 1, 0.1, "greedy", {"calibrated_return": 3, "return": 4})


def test_a_study_without_budgets_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run that was held to a budget"):
        budget_records(Results("t", "", "", {}, Path("study"), [], []))
    (tmp_path / "a.csv").write_text("task,seed\nT,1\n")
    with pytest.raises(InputError, match="holds no records of budgets"):
        read_records(tmp_path / "a.csv")
