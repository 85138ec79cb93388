import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.study.analysis.claims import (
    Cell,
    Claim,
    Condition,
    Judgement,
    Side,
    Wanted,
    idle_runs,
    judge,
)
from policy_inertia.study.results import LineResults, Results
from tests.support.synthetic_results import experiment, line, results

SEEDS = 5


def condition(wanted: Wanted, measure: Any = OSCILLATION, task: str = "Two-Way") -> Condition:
    ours, theirs = (Side("base", task, label) for label in ("NSAC", "SAC"))
    return Condition(measure, wanted, ours, theirs, "NSAC − SAC")


def claim(*cells: tuple[str, tuple[Condition, ...]]) -> Claim:
    return Claim("A claim", "a figure", tuple(Cell(*cell) for cell in cells), "NSAC")


def study(*lines: LineResults) -> Results:
    return dataclasses.replace(results(), experiments=[experiment(*lines)])


def judged(wanted: Wanted, ours: float, theirs: float, measure: Any = OSCILLATION) -> Judgement:
    lines = [
        line(label, oscillation=x) if measure is OSCILLATION else line(label, return_=x)
        for label, x in (("NSAC", ours), ("SAC", theirs))
    ]
    return judge(claim(("Two-Way", (condition(wanted, measure),))), study(*lines), SEEDS)


def test_a_difference_is_that_of_a_paired_t_test() -> None:
    ours, theirs = line("NSAC", oscillation=0.3), line("SAC", oscillation=0.5)
    judgement = judge(claim(("a", (condition("lower"),))), study(ours, theirs), SEEDS)
    ((_, effect),) = judgement.effects
    a, b = ([r["sampled"]["oscillation_ratio"] for r in x.results] for x in (ours, theirs))
    test = stats.ttest_rel(a, b)
    low, high = test.confidence_interval(0.95)
    assert effect.estimate is not None
    assert (effect.estimate.low, effect.estimate.high) == pytest.approx((low, high))
    assert effect.p == pytest.approx(test.pvalue)  # one cell: nothing to correct


def test_two_tested_cells_are_corrected_as_holm_does_it_by_hand() -> None:
    lines = [
        line(label, oscillation=o, task=task)
        for task in ("Two-Way", "Merge")
        for label, o in (("NSAC", 0.3), ("SAC", 0.34))
    ]
    cells = [(t, (condition("lower", task=t),)) for t in ("Two-Way", "Merge")]
    judgement = judge(claim(*cells), study(*lines), SEEDS)
    raw = [e.estimate.p for _, e in judgement.effects if e.estimate and e.estimate.p is not None]
    by_hand = sorted([(2 * min(raw)), max(2 * min(raw), max(raw))])
    assert sorted(e.p or 0 for _, e in judgement.effects) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("wanted", "ours", "theirs", "verdict"),
    [
        ("lower", 0.2, 0.5, "reproduced"),
        ("lower", 0.5, 0.2, "not"),
        ("lower", 0.4, 0.401, "not"),
        ("higher", 0.5, 0.2, "reproduced"),
    ],
)
def test_a_claim_of_a_difference_needs_its_sign_and_a_resolved_difference(
    wanted: Wanted, ours: float, theirs: float, verdict: str
) -> None:
    assert judged(wanted, ours, theirs).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "refuted"),
    [(100, 100, "reproduced", False), (120, 100, "reproduced", False), (80, 100, "not", True)],
)
def test_a_return_is_kept_if_every_larger_loss_is_outside_of_the_interval(
    ours: float, theirs: float, verdict: str, refuted: bool
) -> None:
    judgement = judged("kept", ours, theirs, RETURN)
    assert judgement.verdict == verdict
    assert [effect.refuted for _, effect in judgement.effects] == [refuted]


def test_some_cells_that_hold_make_a_claim_partly_reproduced() -> None:
    cells = ("a", (condition("lower"),)), ("b", (condition("higher"),))
    lines = line("NSAC", oscillation=0.2), line("SAC", oscillation=0.5)
    assert judge(claim(*cells), study(*lines), SEEDS).verdict == "partly"


def test_a_claim_with_a_missing_record_is_not_run() -> None:
    lines = line("NSAC", oscillation=0.2, seeds=3), line("SAC", oscillation=0.5)
    judgement = judge(claim(("a", (condition("lower"),))), study(*lines), SEEDS)
    assert judgement.verdict == "not run (8 of 10 records)"
    nobody = judge(claim(("a", (condition("lower"),))), study(), SEEDS)
    assert nobody.verdict == "not run (0 of 10 records)"
    assert nobody.overall(OSCILLATION, "NSAC − SAC") is None


def test_seeds_are_paired_by_their_number() -> None:
    ours, theirs = line("NSAC"), line("SAC")
    ours = dataclasses.replace(ours, seeds=[4, 3, 2, 1, 0])
    judgement = judge(claim(("a", (condition("lower"),))), study(ours, theirs), SEEDS)
    ((_, effect),) = judgement.effects
    a, b = ([r["sampled"]["oscillation_ratio"] for r in x.results] for x in (ours, theirs))
    assert effect.differences == {s: a[4 - s] - b[s] for s in range(5)}


def test_a_second_pair_is_subtracted_seed_by_seed() -> None:
    lines = [
        line(label, task=task, oscillation=o)
        for task, label, o in (
            ("Two-Way", "NSAC", 0.2),
            ("Two-Way", "SAC", 0.5),
            ("Merge", "NSAC", 0.4),
            ("Merge", "SAC", 0.5),
        )
    ]
    other = (Side("base", "Merge", "NSAC"), Side("base", "Merge", "SAC"))
    both = dataclasses.replace(condition("lower"), minus=other)
    judgement = judge(claim(("a", (both,))), study(*lines), SEEDS)
    ((_, effect),) = judgement.effects
    a, b, c, d = (np.array([r["sampled"]["oscillation_ratio"] for r in x.results]) for x in lines)
    by_hand = (a - b) - (c - d)
    assert list(effect.differences.values()) == pytest.approx(by_hand)
    assert judgement.needed == 20


def test_an_inertia_that_is_nearly_always_under_a_twentieth_does_nothing() -> None:
    one = line("NSAC", mu=0.1)
    for result, share in zip(one.results, (1.0, 0.95, 0.94, 0.0, None), strict=True):
        result["sampled"]["mu_under_0.05"] = share
    assert idle_runs([one]) == (2, 4)
