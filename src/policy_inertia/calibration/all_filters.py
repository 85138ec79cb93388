"""Every filter for continuous actions, hard limits among them, and the settings to try."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.action_filters.rule_table import FILTERS

LIMITS: dict[str, Rule] = {
    "hard limit, burst 1": MovementLimit(1.0, burst=1.0),
    "hard limit, burst 0.1": MovementLimit(1.0, burst=0.1),
}
"""Limits on movement as filters: their rate is what is set."""
RULES: dict[str, Rule] = {**{rule.name.replace("_", " "): rule for rule in FILTERS}, **LIMITS}
"""The filters, each at its loosest setting."""
EVERY = 3  # of a filter's own settings; the settings of the budgets lie between them
FURTHER = 3  # settings beyond the filter's own, for cores that hardly move


def wide_settings(rule: Rule) -> list[float]:
    """Settings from loose to smooth, over a wider range than the rule's own."""
    own = rule.settings()
    coarse = [*own[:-1:EVERY], own[-1]]
    ratio = coarse[-1] / coarse[-2]
    further = [coarse[-1] * ratio**k for k in range(1, FURTHER + 1)]
    return coarse + [setting for setting in further if _is_valid(rule, setting)]


def at_setting(rule: Any, setting: float) -> Any:
    """The rule at another setting."""
    return replace(rule, **{rule.adjustable: setting})


def _is_valid(rule: Rule, setting: float) -> bool:
    try:
        at_setting(rule, setting)
    except InputError:
        return False
    return True
