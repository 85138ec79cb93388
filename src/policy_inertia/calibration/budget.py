"""Choose the setting of a calibrated policy: by a budget of oscillation, or by the return."""

from __future__ import annotations

from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import RETURN
from policy_inertia.policies.policy import Policy


def closest_to_budget(policy: Policy, budget: float) -> Policy:
    """Return the policy at the setting that keeps the budget, or else at its smoothest setting.

    `policy.with_budget` raises an error instead where no setting keeps the budget.
    """
    if policy.calibration is None:
        return policy.with_budget(budget)  # says how to calibrate it
    return policy.at_row(closest_row(policy.calibration, budget))


def closest_row(table: Calibration, budget: float) -> Row:
    """Return the row that keeps the budget, or else the smoothest one."""
    try:
        return table.within(budget)
    except InputError:
        return min(table.rows, key=lambda row: row.smallest_budget)


def best_setting(policy: Policy) -> Policy:
    """Return a calibrated policy at the setting with the highest return.

    For a policy within a limit, which keeps it at every setting.
    """
    assert policy.calibration is not None
    best = max(policy.calibration.rows, key=lambda row: row.figures[RETURN.name] or 0.0)
    return policy.at_row(best)
