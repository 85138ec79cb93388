"""Measure a policy within many limits on switching, and choose the best one by a budget.

A limit is always kept, but how often a policy then switches is known only when it is measured: a
burst of 2 and a rate of 0.1 allow 0.18 switches per step over 25 steps. So policies are compared at
what they measure, not at their rates. As for every other setting, a budget is kept if the upper
bound of the measured oscillation is within it. Earlier rounds took the mean, see `estimates.Rule`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.first_settings import first_settings, strict_thresholds
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.envs.making import EnvLike
from policy_inertia.errors import InputError
from policy_inertia.metrics.estimates import Rule, upper_bound
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.policies.policy import Policy

LIMITS = tuple(
    Limit(rate, burst) for burst in (1, 1.5, 2, 3, 4) for rate in (0.5, 0.2, 0.1, 0.05, 0.02, 0.0)
)
EVERY = 2  # of prices, and of thresholds that are not strict, every second one is tried


class Measured(NamedTuple):
    """A policy within a limit, and the figures of its greedy episodes.

    `bound` is the one-sided upper 95% bound of the oscillation ratio.
    """

    policy: Policy
    figures: dict[str, Any]
    bound: float

    def needs(self, rule: Rule) -> float:
        """The smallest budget that it keeps."""
        ratio: float = self.figures[OSCILLATION.name]
        return self.bound if rule == "upper bound" else ratio


def within_limits(
    policy: Policy,
    env: EnvLike,
    episodes: int = 50,
    seed: int = 0,
    limits: Sequence[Limit] = LIMITS,
    tuned: bool = False,
    env_kwargs: dict[str, Any] | None = None,
    strict: bool = True,
) -> list[Measured]:
    """Measure a policy within every limit, on the episodes of a calibration.

    Args:
        policy: The policy.
        env: A Gymnasium id, a function that makes an env, or an env (as for `evaluate`).
        episodes: Number of episodes of each measurement.
        seed: Seed of the episodes.
        limits: The limits.
        tuned: Within each limit, measure settings too: every second price that `calibrate` would
            try first, or thresholds of hysteresis. A method that plans with limits is tuned by
            hysteresis too: it has no reason of its own to save a token.
        env_kwargs: Arguments of the env.
        strict: Try thresholds that are made for tight budgets (`strict_thresholds`); False: every
            second one that `calibrate` would try first.
    """
    with opened(env, episodes, env_kwargs) as envs:
        calibration, policies = Episodes(envs, episodes, seed), [policy]
        if tuned:
            policies = _settings(policy, calibration, strict)
        limited = [p.within(limit) for limit in limits for p in policies]
        return [_measured(p, calibration) for p in limited]


def _measured(policy: Policy, calibration: Episodes) -> Measured:
    evaluation = calibration.run(policy)
    ratios = OSCILLATION.values(evaluation)
    assert ratios is not None, "every episode has an oscillation ratio"
    return Measured(policy, evaluation.summary(), upper_bound(ratios))


def _settings(policy: Policy, calibration: Episodes, strict: bool) -> list[Policy]:
    """The policy at the settings that are tried within each limit."""
    if policy.traits.limit or policy.setting_name == "threshold":
        if strict:
            thresholds = strict_thresholds(policy, calibration.run)
        else:
            thresholds = first_settings(policy, calibration.run, "threshold")[::EVERY]
        return [policy.with_hysteresis(threshold) for threshold in thresholds]
    settings = first_settings(policy, calibration.run)
    return [policy.with_setting(setting) for setting in settings[::EVERY]]


def best_within(rows: Sequence[Measured], budget: float, rule: Rule = "upper bound") -> Measured:
    """The measured policy with the best return among those within a budget of oscillation.

    Args:
        rows: Measured policies.
        budget: The budget.
        rule: What must be within it.

    Raises:
        InputError: No policy is within the budget.
    """
    within = [row for row in rows if row.needs(rule) <= budget]
    if not within:
        low = min(row.needs(rule) for row in rows)
        raise InputError(
            f"an oscillation ratio of {budget:g} is not reached within these limits: the lowest "
            f"{rule} measured is {low:.3f}, so give at least that, or tighter limits"
        )
    return max(within, key=lambda row: row.figures[RETURN.name])
