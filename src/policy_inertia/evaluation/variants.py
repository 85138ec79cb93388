"""The variants of one policy that an evaluation compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy_inertia.actions.bucket import Limit
from policy_inertia.policies.policy import Policy


@dataclass(frozen=True)
class Variant:
    """A policy as one row of an evaluation runs it."""

    label: str
    policy: Policy
    deterministic: bool


def variants(
    policy: Policy,
    thresholds: Sequence[float] = (),
    prices: Sequence[float] = (),
    budgets: Sequence[float] = (),
    limits: Sequence[Limit] = (),
) -> list[Variant]:
    """Return `policy` sampled and greedy, then its variants.

    A nested policy is followed by its core alone.

    Args:
        policy: The policy to vary.
        thresholds: Thresholds of a hysteresis filter, each sampled and greedy.
        prices: Prices of switching, for a dial.
        budgets: Largest shares of steps with a switch; `policy` then needs a calibration table.
        limits: Limits on switching.
    """
    rows = [Variant("sampled", policy, False), Variant("greedy", policy, True)]
    if policy.nested:
        rows.append(Variant("core, sampled", policy.core(), False))
    for threshold in thresholds:
        filtered = policy.with_hysteresis(threshold)
        rows.append(Variant(f"hysteresis {threshold:g}, sampled", filtered, False))
        rows.append(Variant(f"hysteresis {threshold:g}, greedy", filtered, True))
    rows += [Variant(f"price {price:g}", policy.at(price), True) for price in prices]
    for budget in budgets:
        within = policy.with_budget(budget)
        label = f"budget {budget:g} ({policy.setting_name} {within.setting:.3g}), greedy"
        rows.append(Variant(label, within, True))
    for limit in limits:
        label = f"limit {limit.rate:g}, burst {limit.burst:g}"
        rows.append(Variant(label, policy.within(limit), True))
    return rows
