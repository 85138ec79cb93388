"""Choose the setting of a calibrated policy: by a budget of oscillation, or by the return."""

from __future__ import annotations

from policy_inertia.errors import InputError
from policy_inertia.metrics.measures import RETURN
from policy_inertia.policies.policy import Policy


def closest_to_budget(policy: Policy, budget: float) -> Policy:
    """Return the policy at the setting that keeps the budget, or else at its smoothest setting.

    `policy.with_budget` raises an error instead where no setting keeps the budget.
    """
    try:
        return policy.with_budget(budget)
    except InputError:
        if policy.calibration is None:
            raise
    smoothest = min(policy.calibration.rows, key=lambda row: row.smallest_budget)
    return policy.at_row(smoothest)


def best_setting(policy: Policy) -> Policy:
    """Return a calibrated policy at the setting with the highest return.

    For a policy within a limit, which keeps it at every setting.
    """
    assert policy.calibration is not None
    best = max(policy.calibration.rows, key=lambda row: row.figures[RETURN.name] or 0.0)
    return policy.at_row(best)
