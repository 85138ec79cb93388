"""Choose the setting of a calibrated policy by a budget for its oscillation ratio."""

from __future__ import annotations

from policy_inertia.errors import InputError
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
    smoothest = min(policy.calibration.rows, key=lambda row: row.oscillation_ratio)
    return policy.with_setting(smoothest.setting)
