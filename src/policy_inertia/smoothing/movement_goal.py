"""What a policy with continuous actions shall become: within a budget or a limit of movement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policy_inertia.calibration.budget import best_setting
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterCurve, FilterRow
from policy_inertia.metrics.measures import RETURN
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule_table import FILTERS
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.lab import Lab
from policy_inertia.smoothing.verdict import (
    Candidate,
    Stakes,
    Verdict,
    decide,
    decide_within,
    keep_core,
)


class MovementGoal:
    """Move by at most a budget per step on average, or within a limit always, or both.

    Every filter is calibrated on episodes of its own. The best one there is the one that is
    evaluated: so the held-out episodes have no part in the choice, and its loss there is not the
    luckiest of several.

    Args:
        budget: Largest action fluctuation; None with a limit alone.
        limit: The limit that is put around every filter; None without one.
    """

    def __init__(self, budget: float | None, limit: MovementLimit | None) -> None:
        self.budget, self.limit = budget, limit
        self.curves: dict[str, FilterCurve] = {}

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        if self.limit is not None or self.budget is None:
            return None  # what the core did in some episodes does not bind it in others
        return keep_core(stakes, self.budget) if stakes.meets(stakes.core, self.budget) else None

    def filtered(self, core: ContinuousCore, lab: Lab) -> Iterator[tuple[str, ContinuousCore]]:
        limited = core.within(self.limit)
        if self.limit is not None:
            yield "limit", limited
        policies = []
        for rule in FILTERS:
            policy = lab.calibrated_filter(limited.with_filter(rule), rule.name)
            assert policy.curve is not None
            self.curves[rule.name] = policy.curve
            policies.append(policy)
        rows = [self._row(curve) for curve in self.curves.values()]
        best = max(range(len(rows)), key=lambda i: self._rank(rows[i]))
        yield FILTERS[best].name, policies[best].with_setting(rows[best].setting)

    def _row(self, curve: FilterCurve) -> FilterRow:
        """The setting of a filter that suits the goal best, or comes closest to the budget."""
        if self.budget is None:
            return max(curve.rows, key=_return)
        try:
            return curve.within(self.budget)
        except InputError:  # not reached
            return min(curve.rows, key=lambda row: row.fluctuation_bound)

    def _rank(self, row: FilterRow) -> tuple[float, float]:
        """The higher, the better: within the budget by its return, else the calmer the better."""
        if self.budget is None or row.fluctuation_bound <= self.budget:
            return 1.0, _return(row)
        return 0.0, -row.fluctuation_bound

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        if self.limit is not None or policy.calibration is None:
            policy = lab.calibrated(policy.within(self.limit), name)
        if self.budget is None:
            return best_setting(policy)
        return lab.closest(policy, name, self.budget)

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        if self.budget is None:
            return 0  # the last controller: there is no setting at which to compare them
        limited = [policy.within(self.limit) for policy in policies]
        return lab.best_at_budget(limited, self.budget)

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        if self.limit is not None:
            return decide_within(candidates, self.limit, stakes, self.budget)
        assert self.budget is not None, "there is a budget or a limit"
        return decide(candidates, self.budget, stakes)

    def frontiers(self, candidates: Mapping[str, Candidate]) -> dict[str, Any]:
        controllers = {
            name: candidate.policy.calibration
            for name, candidate in candidates.items()
            if isinstance(candidate.policy, Policy) and candidate.policy.calibration is not None
        }
        return {**self.curves, **controllers}


def _return(row: FilterRow) -> float:
    value = row.figures[RETURN.name]
    assert value is not None, "every evaluation has a return"
    return value
