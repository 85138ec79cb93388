"""The variants of one policy that an evaluation compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.errors import InputError
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.policy import Policy

Allowance = tuple[float, float]
"""The rate and the burst of a limit."""


@dataclass(frozen=True)
class Variant:
    """A policy as one row of an evaluation runs it."""

    label: str
    policy: Any
    deterministic: bool


def variants(
    policy: Policy | ContinuousCore,
    thresholds: Sequence[float] = (),
    prices: Sequence[float] = (),
    budgets: Sequence[float] = (),
    limits: Sequence[Allowance] = (),
    ruled: Any = None,
) -> list[Variant]:
    """Return `policy` as it is, then its variants.

    A stochastic policy is sampled and greedy; a nested one, or one with continuous actions and
    filters, is followed by its core alone.

    Args:
        policy: The policy to vary.
        thresholds: Thresholds of a hysteresis filter, each sampled and greedy.
        prices: Prices of switching, for a dial.
        budgets: Largest shares of steps with a switch, or of movement per step; `policy` then needs
            a calibration; `ruled`, if there is one.
        limits: The rates and bursts of limits on switching, or on movement.
        ruled: The policy with further rules of switching, which hold in all rows but those of the
            policy as it is; by default there are none.
    """
    kind: Any = policy.spaces.actions
    ruled = policy if ruled is None else ruled
    rows = FIRST_ROWS[kind.kind](policy, thresholds, prices, ruled)
    for budget in budgets:
        within = ruled.with_budget(budget)
        label = f"budget {budget:g} ({ruled.setting_name} {within.setting:.3g})"
        rows.append(Variant(f"{label}{_rules(policy, ruled)}, greedy", within, True))
    for rate, burst in limits:
        label = f"limit {rate:g}, burst {burst:g}{_rules(policy, ruled)}"
        rows.append(Variant(label, ruled.with_limit(rate, burst), True))
    return rows


def _rules(policy: Any, ruled: Any) -> str:
    """The further rules of `ruled`, as a part of a label."""
    own, further = (getattr(p, "switching", None) for p in (policy, ruled))
    return "" if further == own else f", {further}"


def _discrete_rows(
    policy: Policy, thresholds: Sequence[float], prices: Sequence[float], ruled: Policy
) -> list[Variant]:
    rows = [Variant("sampled", policy, False), Variant("greedy", policy, True)]
    if policy.nested:
        rows.append(Variant("core, sampled", policy.core(), False))
    rules = _rules(policy, ruled)
    further = {f"hysteresis {tau:g}{rules}": ruled.with_hysteresis(tau) for tau in thresholds}
    held = ruled.switching
    if rules and held is not None and held.dwell > 1:
        further = {str(held): ruled, **further}
    for label, filtered in further.items():
        rows.append(Variant(f"{label}, sampled", filtered, False))
        rows.append(Variant(f"{label}, greedy", filtered, True))
    priced = [(f"price {price:g}{rules}", ruled.at(price)) for price in prices]
    return rows + [Variant(label, at, True) for label, at in priced]


def _box_rows(
    policy: Policy | ContinuousCore,
    thresholds: Sequence[float],
    prices: Sequence[float],
    ruled: Any,
) -> list[Variant]:
    for threshold in thresholds:
        policy.with_hysteresis(threshold)  # raises, and says what is for continuous actions
    if prices and not policy.traits.dial:
        raise InputError(
            f"{policy.method} has continuous actions and no dial, which prices are for: give a "
            "budget or a limit instead"
        )
    rows = [] if policy.deterministic else [Variant("sampled", policy, False)]
    rows.append(Variant("greedy", policy, True))
    core: Any = policy.core()
    if core is not policy and (policy.filters or policy.nested):
        rows.append(Variant("core alone", core, True))
    return rows + [Variant(f"price {price:g}", policy.at(price), True) for price in prices]  # type: ignore[union-attr]


FIRST_ROWS: dict[str, Any] = {
    Discrete.kind: _discrete_rows,
    MultiDiscrete.kind: _discrete_rows,
    Box.kind: _box_rows,
}
"""By the kind of actions."""
