"""A policy within many limits, and the best one by a budget."""

import pytest

from policy_inertia import InputError, Limit, evaluate
from policy_inertia.calibration.within_limits import LIMITS, Measured, best_within, within_limits
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
        assert row.figures == evaluate(row.policy, probes.Both, 4, seed, True).summary()
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


def test_best_return_within_the_budget_is_chosen() -> None:
    policy = fresh("dqn")
    rows = [
        Measured(policy.with_limit(rate, 1), {"return": return_, "oscillation_ratio": ratio})
        for rate, return_, ratio in ((0.5, 9.0, 0.4), (0.2, 7.0, 0.2), (0.1, 8.0, 0.1))
    ]
    assert [best_within(rows, budget).policy.limit for budget in (0.4, 0.3, 0.1)] == [
        Limit(0.5, 1),
        Limit(0.1, 1),
        Limit(0.1, 1),
    ]
    with pytest.raises(InputError, match=r"0.05 is not reached within these limits.*0.100"):
        best_within(rows, 0.05)
