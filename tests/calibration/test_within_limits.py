"""A policy within many limits, and the best one by a budget."""

import numpy as np
import pytest

from policy_inertia import InputError, Limit, evaluate
from policy_inertia.calibration.first_settings import STRICT, _Gaps
from policy_inertia.calibration.within_limits import LIMITS, Measured, best_within, within_limits
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.seeds import Stream, stream_seed
from tests.support import probes
from tests.support.policies import fresh

TWO = (Limit(0.2, 2), Limit(0, 1))


def test_every_limit_is_measured_on_the_episodes_of_a_calibration() -> None:
    policy = fresh("sac", probes.Both, hidden=(8,))
    rows = within_limits(policy, probes.Both, 4, seed=7, limits=TWO)
    assert [row.policy.limit for row in rows] == list(TWO)
    for row in rows:
        seed = stream_seed(7, Stream.CALIBRATION)
        evaluation = evaluate(row.policy, probes.Both, 4, seed, True)
        assert row.figures == evaluation.summary()
        ratios = [e.switches / len(e) for e in evaluation.episodes]
        assert row.bound == pytest.approx(upper_bound(ratios))
    assert len(set(LIMITS)) == 30


def test_thresholds_and_prices_are_tuned_inside_each_limit() -> None:
    for method, setting in (
        ("sac", "hysteresis"),
        ("dial-dqn", "price"),
        ("limit-dqn", "hysteresis"),
    ):
        policy = fresh(method, probes.Both, hidden=(8,))
        rows = within_limits(policy, probes.Both, 2, limits=TWO, tuned=True)
        settings = [getattr(row.policy, setting) for row in rows]
        assert len(rows) % 2 == 0
        assert settings[: len(rows) // 2] == settings[len(rows) // 2 :]
        assert settings[0] == 0
        assert {row.policy.limit for row in rows} == set(TWO)


def test_strict_thresholds_lie_where_a_policy_hardly_ever_switches() -> None:
    policy = fresh("dqn", probes.Both, hidden=(8,))
    gaps = np.arange(101.0)  # between the best action and another one
    recorder = _Gaps(policy)
    recorder.gaps = [gaps]
    by_hand = [0, 25, 50, 70, 80, 85, 90, *range(92, 101)]
    assert recorder.quantiles(np.array(STRICT)) == pytest.approx(by_hand)
    rows, even = (
        within_limits(policy, probes.Both, 2, limits=TWO, tuned=True, strict=strict)
        for strict in (True, False)
    )
    shares = [[row.policy.hysteresis for row in own] for own in (rows, even)]
    assert shares[0] != shares[1]


def test_best_return_within_the_budget_is_chosen() -> None:
    policy = fresh("dqn")
    rows = [
        Measured(policy.with_limit(rate, 1), {"return": return_, "oscillation_ratio": ratio}, bound)
        for rate, return_, ratio, bound in (
            (0.5, 9.0, 0.38, 0.4),
            (0.2, 7.0, 0.19, 0.2),
            (0.1, 8.0, 0.09, 0.1),
        )
    ]
    assert [best_within(rows, budget).policy.limit for budget in (0.4, 0.3, 0.1)] == [
        Limit(0.5, 1),
        Limit(0.1, 1),
        Limit(0.1, 1),
    ]
    with pytest.raises(InputError, match=r"0.05 is not reached.*lowest upper bound.* 0.100"):
        best_within(rows, 0.05)


def test_the_upper_bound_must_be_within_the_budget_unless_the_mean_is_asked_for() -> None:
    policy = fresh("dqn")
    rows = [
        Measured(policy.with_limit(0.5, 1), {"return": 9.0, "oscillation_ratio": 0.2}, 0.3),
        Measured(policy.with_limit(0.1, 1), {"return": 8.0, "oscillation_ratio": 0.1}, 0.15),
    ]
    assert best_within(rows, 0.2) is rows[1]
    assert best_within(rows, 0.2, "mean") is rows[0]
    with pytest.raises(InputError, match=r"lowest mean measured is 0\.100"):
        best_within(rows, 0.05, "mean")
