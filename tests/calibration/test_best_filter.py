"""The best filter of a policy with Box actions at a budget, on a point mass."""

from typing import Any

import pytest

import policy_inertia as pi
from policy_inertia.calibration.all_filters import LIMITS, RULES, wide_settings
from policy_inertia.calibration.best_filter import NONE, BestFilter
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.errors import InputError
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support.point_mass import TwoJoints

EPISODES = 2


def untrained(method: str, **changes: Any) -> pi.Policy:
    config = settings(method, "joints", actions="box", envs=1, **changes)
    return Session(config, TwoJoints).policy()


@pytest.fixture(scope="module")
def filters() -> BestFilter:
    return BestFilter(untrained("sac", hidden=(8,), seed=2), TwoJoints, EPISODES)


def fluctuation(policy: Any) -> float:
    with opened(TwoJoints, EPISODES, None) as envs:
        return float(Episodes(envs, EPISODES, 0).run(policy).summary()["action_fluctuation"])


def test_policy_that_keeps_the_budget_stays_as_it_is(filters: BestFilter) -> None:
    chosen = filters.within(1.0)
    assert chosen.policy is filters.policy
    assert chosen.filter == NONE


def test_best_filter_has_the_highest_return_of_those_that_keep_the_budget(
    filters: BestFilter,
) -> None:
    budget, returns = 0.5 * fluctuation(filters.policy), {}
    for name, rows in filters.rows.items():
        loosest = len(rows)
        while loosest and rows[loosest - 1].fluctuation_bound <= budget:
            loosest -= 1
        if loosest < len(rows):
            returns[name] = rows[loosest].figures["return"] or 0.0
    assert len(returns) > 3
    chosen = filters.within(budget)
    assert chosen.filter == max(returns, key=lambda name: returns[name])
    assert 0.4 * budget < fluctuation(chosen.policy) <= budget
    assert chosen.row.fluctuation_bound <= budget


def test_every_filter_is_tried_from_loose_to_smooth(filters: BestFilter) -> None:
    assert set(filters.rows) == set(RULES)
    for name, rows in filters.rows.items():
        assert rows[0].setting == wide_settings(RULES[name])[0]
        assert rows[-1].fluctuation_bound < rows[0].fluctuation_bound


@pytest.mark.parametrize(
    ("method", "changes"),
    [("sac-repeat", {"hidden": (8,)}), ("nsac", {"hidden": (8,), "core": {"hidden": (8,)}})],
)
def test_policy_that_remembers_is_held_by_a_limit(method: str, changes: dict[str, Any]) -> None:
    filters = BestFilter(untrained(method, seed=2, **changes), TwoJoints, EPISODES)
    assert set(filters.rows) == set(LIMITS)
    budget = 0.5 * fluctuation(filters.policy)
    chosen = filters.within(budget)
    assert chosen.policy.limit is not None
    assert fluctuation(chosen.policy) <= budget
    with pytest.raises(InputError, match="is not reached by any filter"):
        filters.within(0.0)
