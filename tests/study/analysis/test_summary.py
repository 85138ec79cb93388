import csv
import dataclasses
import io
import json
import math

import pytest

from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import interquartile_mean, probability_of_improvement
from policy_inertia.study.results import Experiment
from tests.support.synthetic_results import figures, results, series


def experiment(*lines) -> Experiment:
    return Experiment("e", "E", "", False, list(lines))


def test_rows_are_policies_as_they_are_without_controller_and_filtered():
    sac = series("SAC", thresholds=(0.5, 0.1))
    found = summary.rows(experiment(sac, series("NSAC", mu=0.5)))
    assert [(r.name, r.actions) for r in found] == [
        ("SAC", "sampled"),
        ("SAC", "greedy"),
        ("SAC + hysteresis 0.1", "sampled"),
        ("SAC + hysteresis 0.1", "greedy"),
        ("SAC + hysteresis 0.5", "sampled"),
        ("SAC + hysteresis 0.5", "greedy"),
        ("NSAC", "sampled"),
        ("NSAC", "greedy"),
        ("NSAC (core alone)", "core"),
    ]
    values = [r["sampled"]["return"] for r in sac.results]
    assert found[0].values["return"] == values
    assert found[0].estimates["return"] == interquartile_mean([values])


def test_improvement_is_of_pairs_and_over_shared_tasks():
    both = [series(m, r, task=t) for t in ("A", "B") for m, r in (("SAC", 17), ("NSAC", 18))]
    both.append(series("DQN", task="A"))
    e = experiment(*both)
    found = summary.improvements(e, summary.rows(e))
    named = {(i.task, i.ours, i.theirs): i.estimates for i in found}
    assert set(named) == {
        ("A", "NSAC", "SAC"), ("A", "DQN", "SAC"), ("A", "DQN", "NSAC"), ("B", "NSAC", "SAC"),
        ("all tasks", "NSAC", "SAC"),
    }  # fmt: skip
    ours, theirs = (
        [[r["sampled"]["return"] for r in s.results] for s in both if s.label == label]
        for label in ("NSAC", "SAC")
    )
    expected = probability_of_improvement(ours, theirs)
    assert named["all tasks", "NSAC", "SAC"]["return"] == expected
    lower = [[[r["sampled"]["crash_rate"] for r in s.results]] for s in both[1::-1]]
    expected = probability_of_improvement(*lower, higher_is_better=False)
    assert named["A", "NSAC", "SAC"]["crash_rate"] == expected


def test_verdict_says_what_is_resolved_and_what_is_not():
    lines = [series("SAC", 17, 0.5, 0.2), series("NSAC", 17.05, 0.3, 0.2, mu=0.5)]
    said = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert "Oscillation ratio is lowest with NSAC" in said[1]
    assert said[1].endswith("its interval is apart from all others.")
    assert "not resolved: the interval overlaps with all others" in said[0]


def test_verdict_does_not_call_equals_best():
    lines = [series("SAC", crash=9), series("NSAC", crash=9)]  # all runs crash always
    said = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert said[2] == "Crash rate is the same with all (1.00)."


def test_verdict_names_controllers_that_died_or_froze():
    lines = [series("dead", mu=0.01), series("alive", mu=0.5), series("frozen", mu=0.97)]
    said = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert said[-2:] == [
        "The mean mu of dead is 0.01: its controller lets go always, and it acts as its core.",
        "The mean mu of frozen is 0.97: it holds nearly always, and hardly decides.",
    ]


def test_verdict_admits_that_a_filter_does_as_well():
    strong = series("SAC", 18, 0.5, thresholds=(0.01, 2.0))
    weak = series("NSAC", 15, 0.3, mu=0.5)
    said = summary.verdict(summary.rows(experiment(strong, weak)), "Two-Way")[-1]
    assert said.startswith("SAC + hysteresis 2 (sampled), a filter without any training")
    far = series("NSAC", 30, 0.01, mu=0.5)
    said = summary.verdict(summary.rows(experiment(strong, far)), "Two-Way")[-1]
    assert said == "No hysteresis filter is at once as smooth and as good as NSAC."


def test_single_seed_decides_nothing():
    found = summary.rows(experiment(series("SAC", seeds=1), series("NSAC", seeds=1)))
    assert all(e.low is None for r in found for e in r.estimates.values())
    assert "a single seed decides nothing" in summary.verdict(found, "Two-Way")[0]
    assert summary.marks(found[:2], summary.RETURN) == ["", ""]


def test_nan_is_marked_and_the_rest_is_reported():
    broken = series("SAC")
    broken.results[2]["sampled"] = figures(math.nan, 0.5, 0.1)
    row = summary.rows(experiment(broken))[0]
    assert "return" not in row.estimates
    assert "1 of 5 seeds have no finite number" in row.missing["return"]
    assert "oscillation_ratio" in row.estimates


def test_env_that_tells_no_crashes_has_no_crash_rate():
    row = summary.rows(experiment(series("SAC", crash=None)))[0]
    assert "crash_rate" not in row.estimates
    assert not row.missing
    assert "termination_rate" in row.estimates


def test_policy_that_is_always_greedy_is_known():
    dqn = series("DQN", thresholds=(0.5,))
    for r in dqn.results:
        r["greedy"] = r["sampled"]
    found = summary.rows(experiment(dqn, series("SAC")))
    assert summary.always_greedy(found, found[0])
    assert not summary.always_greedy(found, next(r for r in found if r.label == "SAC"))


def test_json_and_csv_hold_the_same_numbers():
    made = results()
    made.experiments[0].series[0].results[0]["sampled"] = figures(math.nan, 0.5, 0.1)
    found = summary.tabulate(made)
    text = json.dumps(summary.to_json(made, found), allow_nan=False)
    listed = json.loads(text)["rows"]
    lines = list(csv.DictReader(io.StringIO(summary.to_csv(found))))
    assert len(lines) == sum(len(r["estimates"]) for r in listed)
    for r in listed:
        own = [
            line
            for line in lines
            if all(line[k] == str(r[k] if r[k] is not None else "") for k in summary.COLUMNS)
        ]
        assert {line["measure"] for line in own} == set(r["estimates"])
        for line in own:
            e = r["estimates"][line["measure"]]
            assert float(line["estimate"]) == e["value"]
            assert float(line["high"]) == e["high"]
            values = [float(v) for v in line["seed values"].split()]
            assert values == pytest.approx(r["values"][line["measure"]])


def test_series_without_a_finished_run_is_left_out():
    empty = dataclasses.replace(
        series("SAC"), seeds=[], folders=[], curves=[], results=[], hysteresis={}
    )
    assert {r.label for r in summary.rows(experiment(empty, series("DQN")))} == {"DQN"}
