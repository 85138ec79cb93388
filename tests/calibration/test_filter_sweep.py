"""The whole curve of a filter, and budgets by it."""

import pytest

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.calibration.filter_sweep import calibrate_filter, refine_filter
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.continuous import ContinuousCore
from tests.support.chase import Chase, follow


@pytest.fixture(scope="module")
def core() -> ContinuousCore:
    filtered = load_core(follow, Chase).with_filter(Exponential(0.5))
    return calibrate_filter(filtered, Chase, 5, settings=[1, 0.6, 0.4, 0.2, 0.1, 0.02])


def test_budget_is_kept_on_other_episodes(core: ContinuousCore) -> None:
    within = core.with_budget(max_fluctuation=0.05)
    figures = evaluate(within, Chase, 10, seed=99).summary()
    assert figures["action_fluctuation"] <= 0.05
    assert within.rule in (Exponential(0.6), Exponential(0.4), Exponential(0.2))


def test_loosest_setting_that_keeps_the_budget_is_taken(core: ContinuousCore) -> None:
    assert core.curve is not None
    for i, point in enumerate(core.curve.rows):
        assert core.curve.within(point.fluctuation_bound) == point
        assert (point.figures["action_fluctuation"] or 1) < point.fluctuation_bound
        if i:
            assert point.fluctuation_bound < core.curve.rows[i - 1].fluctuation_bound


def test_refining_comes_closer_to_a_budget_and_keeps_it(core: ContinuousCore) -> None:
    assert core.curve is not None
    coarse = core.curve.within(0.05)
    refined = refine_filter(core, Chase, 0.05)
    assert refined.curve is not None
    fine = refined.curve.within(0.05)
    assert coarse.fluctuation_bound < 0.95 * 0.05
    assert coarse.fluctuation_bound < fine.fluctuation_bound <= 0.05
    alphas = [row.setting for row in refined.curve.rows]
    assert alphas == sorted({*alphas, *(row.setting for row in core.curve.rows)}, reverse=True)


@pytest.mark.parametrize("budget", [0.0001, 0.9])
def test_where_no_setting_or_every_setting_keeps_a_budget_there_is_nothing_to_refine(
    core: ContinuousCore, budget: float
) -> None:
    assert refine_filter(core, Chase, budget).curve == core.curve


def test_curve_survives_json_and_is_printed(core: ContinuousCore) -> None:
    assert core.curve is not None
    assert FilterCurve.from_dict(core.curve.to_dict()) == core.curve
    assert len(str(core.curve).splitlines()) == 7
    assert "action fluctuation" in str(core.curve)


def test_another_filter_has_no_curve_yet(core: ContinuousCore) -> None:
    with pytest.raises(InputError, match="was not calibrated: measure it first"):
        core.with_filter(RateLimit(0.1)).with_budget(0.05)


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (0.0001, "0.0001 is not reachable: with its alpha, this filter goes from .* on Chase"),
        (2, "the budget is 2: give a share of the range per step"),
    ],
)
def test_bad_budgets_are_refused_in_one_sentence(
    core: ContinuousCore, budget: float, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        core.with_budget(budget)


def test_policy_without_a_filter_cannot_be_calibrated() -> None:
    with pytest.raises(InputError, match="has no filter"):
        calibrate_filter(load_core(follow, Chase), Chase)
