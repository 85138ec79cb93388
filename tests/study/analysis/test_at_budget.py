import dataclasses
import math
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.cli import main as cli
from policy_inertia.study.analysis.at_budget import (
    Record,
    difference,
    matched,
    own_cores,
    read_records,
    records,
    versus,
    worth,
    write_records,
)
from policy_inertia.study.results import Experiment, Results, Series


def line(label, method, kept) -> Series:
    n = len(kept)
    empty: list = [[] for _ in range(n)]
    config = {"gamma": 0.9}
    return Series(
        label, "T", method, "E", config, list(range(n)), [], empty, empty, {}, {0.1: kept}
    )


def kept(mean_return, calibrated, oscillation=0.09, crashes=0.0):
    greedy = {"return": mean_return, "oscillation_ratio": oscillation, "crash_rate": crashes}
    greedy |= {"length": 10.0, "termination_rate": crashes or 0.0}
    sampled = {**greedy, "return": mean_return - 1}
    return {"greedy": greedy, "sampled": sampled, "calibrated_return": calibrated}


UNREACHABLE = {"unreachable": "no"}


def all_records(*series):
    experiment = Experiment("e", "E", "", False, list(series))
    return records(Results("t", "", "", {}, Path("study"), [experiment], []))


def found(*series, way="greedy"):
    return [m for m in matched(all_records(*series)) if m.way == way]


def test_seeds_that_cannot_keep_the_budget_are_counted_and_left_out():
    (row,) = found(line("dqn", "dqn", [kept(3.0, 3), UNREACHABLE, kept(5.0, 5, crashes=0.5)]))
    assert (row.method, row.seeds, list(row.kept)) == ("dqn", 3, [0, 2])
    assert row.estimate("mean_return").value == 4.0
    assert row.estimate("crash_rate").value == 0.25
    (none,) = found(line("dqn", "dqn", [UNREACHABLE]))
    assert (none.kept, none.estimate("mean_return")) == ({}, None)


def test_core_of_a_dial_is_a_rival_of_its_own():
    dial = line("dial-dqn, gate", "dial-dqn", [kept(5.0, 0)])
    dial = dataclasses.replace(dial, core_budgets={0.1: [kept(4.0, 0)]})
    ours, core = found(dial)
    assert (ours.method, core.method) == ("dial-dqn, gate", "core of dial-dqn, gate")
    assert versus([ours, core], ours).rival is core
    told = own_cores([ours, core], "greedy").splitlines()
    assert told[2:] == ["| T | dial-dqn, gate | 0.1 | +1.00 | +0.000 |"]


def test_both_ways_to_act_are_told_apart():
    (row,) = found(line("sac", "sac", [kept(3.0, 3)]), way="sampled")
    assert row.estimate("mean_return").value == 2.0


def test_size_of_a_penalty_is_chosen_by_calibration_and_not_by_what_is_reported():
    small = line("dqn-ip 0.02", "dqn-ip", [kept(9.0, -2.0), kept(1.0, 2.0)])
    large = line("dqn-ip 0.2", "dqn-ip", [kept(4.0, -1.0), UNREACHABLE])
    (row,) = found(small, large)
    assert (row.method, row.seeds, len(row.kept)) == ("dqn-ip", 2, 2)
    assert row.estimate("mean_return").value == (4.0 + 1.0) / 2


def test_difference_is_paired_by_seed_with_students_interval():
    ours = line("dial-dqn, gate", "dial-dqn", [kept(5.0, 0), kept(9.0, 0), kept(1.0, 0)])
    theirs = line("dqn", "dqn", [kept(4.0, 0), kept(6.0, 0), UNREACHABLE])
    a, b = found(ours, theirs)
    gap = difference(a, b, "mean_return")  # 1 and 3: mean 2, deviation sqrt 2, t = 12.706
    assert gap.value == 2.0
    assert gap.high == pytest.approx(2 + 12.7062 * math.sqrt(2) / math.sqrt(2), rel=1e-4)


def test_best_rival_is_the_one_with_the_highest_return_and_no_dial():
    ours = line("dial-dqn, gate", "dial-dqn", [kept(5.0, 0, crashes=0.2)] * 2)
    other = line("dial-dqn, full", "dial-dqn", [kept(8.0, 0)] * 2)
    good = line("dqn", "dqn", [kept(4.0, 0, crashes=0.3)] * 2)
    safe = line("sac", "sac", [kept(2.0, 0, crashes=0.1)] * 2)
    seldom = line("nsac", "nsac", [kept(7.0, 0), UNREACHABLE])
    rows = found(ours, other, good, safe, seldom)
    against = versus(rows, rows[0])
    assert (against.rival.method, against.safest.method) == ("dqn", "sac")
    assert against.mean_return.value == 1.0
    assert against.crash_rate.value == pytest.approx(-0.1)
    assert against.to_safest.value == pytest.approx(0.1)
    alone = found(ours)
    assert versus(alone, alone[0]) is None


def test_worth_without_a_time_limit_by_hand():
    """0.6 a step, and one step in twenty ends it: 0.6 (1 + 0.9 * 0.95 + ...) = 0.6 / 0.145."""
    assert worth(6.0, 10.0, 0.5, 0.9) == pytest.approx(4.13793, rel=1e-5)
    assert worth(6.0, 10.0, 0.0, 0.9) == pytest.approx(6.0)  # it never ends
    assert worth(6.0, 1.0, 1.0, 0.9) == 6.0  # one step, and no other


def test_rival_that_is_worth_most_need_not_have_the_highest_return():
    ours = line("dial-dqn, gate", "dial-dqn", [kept(5.0, 0)] * 2)
    fast = line("sac", "sac", [kept(6.0, 0, crashes=1.0)] * 2)
    steady = line("dqn", "dqn", [kept(4.0, 0)] * 2)
    rows = found(ours, fast, steady)
    against = versus(rows, rows[0])
    assert (against.rival.method, against.worthiest.method) == ("sac", "dqn")
    assert against.to_worthiest.value == pytest.approx(5.0 - 4.0)  # 10 steps, gamma 0.9


def test_records_come_back_from_a_file(tmp_path):
    told = all_records(line("dqn", "dqn", [kept(3.25, 3), UNREACHABLE]))
    assert told[0].worth == pytest.approx(3.25)
    assert told[2] == Record("T", "dqn", "dqn", 1, 0.1, "greedy")
    write_records(tmp_path / "records.csv", told)
    back = read_records(tmp_path / "records.csv")
    assert [dataclasses.replace(r, worth=None) for r in back] == [
        dataclasses.replace(r, worth=None) for r in told
    ]
    assert [r.worth for r in back] == pytest.approx([3.25, 2.25, None, None])


def test_what_holds_no_records_is_refused(tmp_path):
    with pytest.raises(InputError, match="no run that was held to a budget"):
        records(Results("t", "", "", {}, Path("study"), [], []))
    (tmp_path / "a.csv").write_text("task,seed\nT,1\n")
    with pytest.raises(InputError, match="holds no records of budgets"):
        read_records(tmp_path / "a.csv")


def test_command_prints_tables_from_records(tmp_path, capsys):
    ours = line("dial-dqn, gate", "dial-dqn", [kept(5.0, 0, crashes=0.2), kept(6.0, 0)])
    theirs = line("dqn", "dqn", [kept(4.0, 0, crashes=0.3), UNREACHABLE])
    write_records(tmp_path / "records.csv", all_records(ours, theirs))
    cli.matched([str(tmp_path / "records.csv")])
    told = capsys.readouterr().out
    assert "| dial-dqn, gate | 5.5 ± 6.4 / 0.10 ± 1.27 |" in told
    assert "| dqn | 4.0 / 0.30 (1 of 2) |" in told
