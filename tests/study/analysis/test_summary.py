import csv
import dataclasses
import io
import json
import math

import pytest

from policy_inertia.metrics.measures import MEASURES, RETURN
from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import interquartile_mean, probability_of_improvement
from tests.support.synthetic_results import experiment, figures, line, results


def test_rows_are_policies_as_trained_filtered_and_without_their_controller() -> None:
    sac = line("SAC", thresholds=(0.5, 0.1))
    rows = summary.rows(experiment(sac, line("NSAC", mu=0.5)))
    assert [(r.name, r.actions) for r in rows] == [
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
    assert rows[0].values["return"] == values
    assert rows[0].estimates["return"] == interquartile_mean([values])


def test_rows_hold_every_measure_that_the_runs_hold() -> None:
    sac = line("SAC")
    for result in sac.results:
        result["sampled"] |= dict.fromkeys(MEASURES, 0.5)
    row = summary.rows(experiment(sac))[0]
    assert list(row.estimates) == list(MEASURES)


def test_improvement_is_about_pairs_and_over_shared_tasks() -> None:
    lines = [line(m, r, task=t) for t in ("A", "B") for m, r in (("SAC", 17), ("NSAC", 18))]
    lines.append(line("DQN", task="A"))
    e = experiment(*lines)
    improvements = summary.improvements(e, summary.rows(e))
    estimates = {(i.task, i.ours, i.theirs): i.estimates for i in improvements}
    assert set(estimates) == {
        ("A", "NSAC", "SAC"), ("A", "DQN", "SAC"), ("A", "DQN", "NSAC"), ("B", "NSAC", "SAC"),
        ("all tasks", "NSAC", "SAC"),
    }  # fmt: skip
    ours, theirs = (
        [[r["sampled"]["return"] for r in x.results] for x in lines if x.label == label]
        for label in ("NSAC", "SAC")
    )
    expected = probability_of_improvement(ours, theirs)
    assert estimates["all tasks", "NSAC", "SAC"]["return"] == expected
    ours, theirs = ([[r["sampled"]["crash_rate"] for r in x.results]] for x in lines[1::-1])
    expected = probability_of_improvement(ours, theirs, higher_is_better=False)
    assert estimates["A", "NSAC", "SAC"]["crash_rate"] == expected


def test_an_improvement_is_resolved_where_its_interval_leaves_one_half_out() -> None:
    e = experiment(line("SAC", 10), line("NSAC", 20, mu=0.5), line("DQN", 10))
    improvements = summary.improvements(e, summary.rows(e))
    resolved = {(i.ours, i.theirs): i.resolved(RETURN) for i in improvements}
    assert resolved["NSAC", "SAC"]
    assert not resolved["DQN", "SAC"]


def test_the_verdict_separates_resolved_from_unresolved() -> None:
    lines = [line("SAC", 17, 0.5, 0.2), line("NSAC", 17.05, 0.3, 0.2, mu=0.5)]
    sentences = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert "Oscillation ratio is lowest for NSAC" in sentences[1]
    assert sentences[1].endswith("its interval is apart from all others.")
    assert "not resolved: the interval overlaps with all others" in sentences[0]


def test_the_verdict_calls_no_equal_policy_best() -> None:
    lines = [line("SAC", crashes=9), line("NSAC", crashes=9)]  # every episode of all runs crashes
    sentences = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert sentences[2] == "Crash rate is the same for all policies (1.00)."


def test_the_verdict_names_controllers_that_never_or_always_hold() -> None:
    lines = [line("idle", mu=0.01), line("active", mu=0.5), line("frozen", mu=0.97)]
    sentences = summary.verdict(summary.rows(experiment(*lines)), "Two-Way")
    assert sentences[-2:] == [
        "The mean mu of idle is 0.01: its controller hardly ever holds, so it acts as its core.",
        "The mean mu of frozen is 0.97: it holds nearly always and hardly decides.",
    ]


def test_the_verdict_admits_that_a_filter_does_as_well() -> None:
    strong = line("SAC", 18, 0.5, thresholds=(0.01, 2.0))
    weak = line("NSAC", 15, 0.3, mu=0.5)
    last = summary.verdict(summary.rows(experiment(strong, weak)), "Two-Way")[-1]
    assert last.startswith("SAC + hysteresis 2 (sampled), a filter without training")
    better = line("NSAC", 30, 0.01, mu=0.5)
    last = summary.verdict(summary.rows(experiment(strong, better)), "Two-Way")[-1]
    assert last == "No hysteresis filter is both as smooth and as good as NSAC."


def test_a_single_seed_decides_nothing() -> None:
    rows = summary.rows(experiment(line("SAC", seeds=1), line("NSAC", seeds=1)))
    assert all(e.low is None for r in rows for e in r.estimates.values())
    assert "a single seed decides nothing" in summary.verdict(rows, "Two-Way")[0]
    assert summary.marks(rows[:2], RETURN) == ["", ""]


def test_a_measure_with_nan_has_no_estimate_and_the_others_have_one() -> None:
    broken = line("SAC")
    broken.results[2]["sampled"] = figures(math.nan, 0.5, 0.1)
    row = summary.rows(experiment(broken))[0]
    assert "return" not in row.estimates
    assert "1 of 5 seeds have no finite number" in row.missing["return"]
    assert "oscillation_ratio" in row.estimates


def test_an_env_that_reports_no_crashes_shows_its_termination_rate() -> None:
    (row, *_) = summary.rows(experiment(line("SAC", crashes=None)))
    assert "crash_rate" not in row.estimates
    assert not row.missing
    names = [m.name for m in summary.measures_of([row], "headline")]
    assert names == ["return", "oscillation_ratio", "termination_rate"]


def test_a_policy_that_always_acts_greedily_is_detected() -> None:
    dqn = line("DQN", thresholds=(0.5,))
    for r in dqn.results:
        r["greedy"] = r["sampled"]
    rows = summary.rows(experiment(dqn, line("SAC")))
    assert summary.always_greedy(rows, rows[0])
    assert not summary.always_greedy(rows, next(r for r in rows if r.label == "SAC"))


def test_before_and_after_share_a_core_if_possible() -> None:
    dqn, sac = line("DQN"), line("SAC")
    nsac, ndqn = line("NSAC", mu=0.5), line("NDQN", mu=0.5)
    choose = summary.before_and_after
    assert choose([dqn, sac, nsac]) == [sac, nsac]
    assert choose([sac, dqn, ndqn]) == [dqn, ndqn]
    assert choose([nsac]) == [nsac]
    assert choose([dqn, sac]) == [dqn, sac]
    assert choose([]) == []


def test_the_median_run_of_two_is_the_lower_one() -> None:
    sac = line("SAC", seeds=2)
    returns = [r["sampled"]["return"] for r in sac.results]
    assert summary.median_run(sac) == returns.index(min(returns))


def test_json_and_csv_hold_the_same_numbers() -> None:
    study = results()
    study.experiments[0].lines[0].results[0]["sampled"] = figures(math.nan, 0.5, 0.1)
    tables = summary.tabulate(study)
    text = json.dumps(summary.to_json(study, tables), allow_nan=False)
    rows = json.loads(text)["rows"]
    lines = list(csv.DictReader(io.StringIO(summary.to_csv(tables))))
    assert len(lines) == sum(len(r["estimates"]) for r in rows)
    for r in rows:
        own = [
            x
            for x in lines
            if all(x[k] == str(r[k] if r[k] is not None else "") for k in summary.COLUMNS)
        ]
        assert {x["measure"] for x in own} == set(r["estimates"])
        for x in own:
            e = r["estimates"][x["measure"]]
            assert float(x["estimate"]) == e["value"]
            assert float(x["high"]) == e["high"]
            values = [float(v) for v in x["seed values"].split()]
            assert values == pytest.approx(r["values"][x["measure"]])


def test_a_line_without_a_finished_run_is_left_out() -> None:
    empty = dataclasses.replace(
        line("SAC"), seeds=[], folders=[], curves=[], results=[], hysteresis={}
    )
    assert {r.label for r in summary.rows(experiment(empty, line("DQN")))} == {"DQN"}
