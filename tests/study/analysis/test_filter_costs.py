"""What filters cost, compared with numbers worked out by hand."""

import pytest

from policy_inertia.study.analysis.filter_costs import best_filters, filter_costs
from policy_inertia.study.analysis.statistics import mean_and_t_interval
from policy_inertia.study.core_records import CoreRecord
from tests.support.core_records import core_record, moved

FAR = {"unreachable": "not reachable"}


def records(*better: float) -> list[CoreRecord]:
    """Cores that gain 100; the exponential loses 10, the dead band `better` less than that."""
    return [
        core_record(
            seed,
            150.0,
            50.0,
            filters={
                "exponential": {"0.5": moved(140.0, 0.1), "0.1": FAR},
                "dead band": {"0.5": moved(140.0 + gap, 0.05), "0.1": moved(100.0, 0.02)},
            },
        )
        for seed, gap in enumerate(better)
    ]


def test_a_loss_is_a_share_of_what_the_core_gains_over_random_actions() -> None:
    exponential, far, dead_band, low = filter_costs(records(5.0, 7.0))
    assert (exponential.filter, exponential.budget) == ("exponential", 0.5)
    assert exponential.losses == {0: pytest.approx(0.1), 1: pytest.approx(0.1)}
    assert dead_band.losses == {0: pytest.approx(0.05), 1: pytest.approx(0.03)}
    assert dead_band.loss.value == pytest.approx(0.04)
    assert dead_band.share("action_fluctuation").value == pytest.approx(0.25)
    assert dead_band.share("length").value == 0.5
    assert low.losses[0] == 0.5
    assert not far.losses
    assert not far.whole


def test_a_core_that_is_no_better_than_random_actions_is_left_out() -> None:
    useless = core_record(9, 40.0, 50.0, filters={"exponential": {"0.5": moved(0.0, 0.1)}})
    (row, *_) = filter_costs([*records(5.0), useless])
    assert set(row.losses) == {0}
    assert row.seeds == 1
    assert filter_costs([useless]) == []


def test_the_best_filter_is_paired_with_the_next_one_and_corrected_for_all_rows() -> None:
    same = records(5.0, 7.0, 6.0, 5.5, 6.5)
    rows = best_filters({"a": filter_costs(same), "b": filter_costs(same)})
    assert [(r.cell, r.best.budget, r.best.filter) for r in rows] == [
        ("a", 0.5, "dead band"),
        ("a", 0.1, "dead band"),
        ("b", 0.5, "dead band"),
        ("b", 0.1, "dead band"),
    ]
    first = rows[0]
    expected = mean_and_t_interval([0.05, 0.07, 0.06, 0.055, 0.065])
    assert first.second is not None
    assert first.second.filter == "exponential"
    assert first.difference is not None
    assert first.difference.value == pytest.approx(0.06)
    assert expected.p is not None
    assert first.p == pytest.approx(2 * expected.p)  # two rows are tested
    assert first.resolved
    assert rows[1].second is None  # no other filter reaches the budget
    assert rows[1].p is None
    assert not rows[1].resolved


def test_a_filter_that_some_seeds_do_not_reach_is_not_compared() -> None:
    some = records(5.0, 5.0)
    some[0].figures["filters"]["dead band"]["0.5"] = FAR
    (row, _) = filter_costs(some)[2:]
    assert not row.whole
    best = best_filters({"a": filter_costs(some)})[0]
    assert (best.best.filter, best.second) == ("exponential", None)
