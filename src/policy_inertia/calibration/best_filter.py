"""Hold a policy with Box actions to budgets of movement by the best of all filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from policy_inertia.calibration.all_filters import LIMITS, RULES, at_setting, wide_settings
from policy_inertia.calibration.filter_sweep import measured_row, refined_rows
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.envs.making import EnvLike
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterRow
from policy_inertia.metrics.measures import RETURN
from policy_inertia.metrics.setting_rows import loosest_within
from policy_inertia.policies.policy import Policy

NONE = "none"
"""The name of the filter of a policy that keeps a budget as it is."""
AtSetting = Callable[[float], Any]
"""From a setting of a filter to the policy behind it."""


class Within(NamedTuple):
    """A policy that keeps a budget, the name of its filter, and its row in calibration."""

    policy: Any
    filter: str
    row: FilterRow


class BestFilter:
    """All filters around a policy, measured on the episodes of a calibration.

    A policy that remembers, by its controller or because it holds its actions, has hard limits
    only: the other filters are for policies that decide afresh at every step.

    Args:
        policy: A policy with Box actions.
        env: Where to measure.
        episodes: Number of episodes at each setting.
        seed: Seed of the calibration.
        env_kwargs: Arguments of the env.
    """

    def __init__(
        self,
        policy: Policy,
        env: EnvLike,
        episodes: int = 20,
        seed: int = 0,
        env_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.policy, self._place = policy, (env, episodes, env_kwargs)
        self._count, self._seed = episodes, seed
        self._at = {name: _adjusted(policy, rule) for name, rule in _rules(policy).items()}
        with opened(*self._place) as envs:
            own = Episodes(envs, episodes, seed)
            self._bare = measured_row(policy, 0.0, own)
            self.rows: dict[str, list[FilterRow]] = {
                name: [measured_row(self._at[name](x), x, own) for x in wide_settings(rule)]
                for name, rule in _rules(policy).items()
            }

    @property
    def trials(self) -> int:
        """How many settings of all filters were measured, the policy as it is included."""
        return 1 + sum(len(rows) for rows in self.rows.values())

    def within(self, budget: float) -> Within:
        """The policy as it is if that keeps the budget, else behind its best filter.

        The best filter has the highest return in calibration, each at its loosest setting within
        the budget. Its setting is then searched more finely.

        Raises:
            InputError: No filter reaches the budget.
        """
        if self._bare.fluctuation_bound <= budget:
            return Within(self.policy, NONE, self._bare)
        loosest = {name: _loosest(rows, budget) for name, rows in self.rows.items()}
        known = {name: row for name, row in loosest.items() if row is not None}
        if not known:
            low = min(rows[-1].fluctuation_bound for rows in self.rows.values())
            raise InputError(
                f"an action fluctuation of {budget:g} is not reached by any filter: the lowest "
                f"measured is {low:.4f}, so give at least that"
            )
        best = max(known, key=lambda name: known[name].figures[RETURN.name] or 0.0)
        at = self._at[best]
        with opened(*self._place) as envs:
            own = Episodes(envs, self._count, self._seed)
            rows = refined_rows(self.rows[best], lambda x: measured_row(at(x), x, own), budget)
        self.rows[best] = rows
        row = _loosest(rows, budget) or known[best]
        return Within(at(row.setting), best, row)


def _rules(policy: Policy) -> dict[str, Any]:
    return LIMITS if policy.nested or policy.repeats != (1,) else RULES


def _adjusted(policy: Policy, rule: Any) -> AtSetting:
    if _rules(policy) is LIMITS:
        return lambda setting: policy.within(at_setting(rule, setting))
    return policy.with_filter(rule).with_setting


def _loosest(rows: list[FilterRow], budget: float) -> FilterRow | None:
    return loosest_within(rows, lambda row: row.fluctuation_bound, budget)
