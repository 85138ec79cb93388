"""The rules that smooth continuous actions, one row each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.schema import read_as

RULES: dict[str, type[Any]] = {
    rule.name: rule
    for rule in (Exponential, Butterworth, DeadBand, RateLimit, OneEuro, MovementLimit)
}
"""Every rule by name."""

FILTERS: tuple[Rule, ...] = (
    Exponential(1.0),
    Butterworth(0.95),
    DeadBand(0.0),
    RateLimit(1.0),
    OneEuro(10.0),
)
"""The filters that are compared with each other, each at its loosest setting."""


def to_dict(rule: Rule) -> dict[str, Any]:
    """The rule as JSON."""
    return {"name": rule.name, **settings_of(rule)}


def settings_of(rule: Rule) -> dict[str, Any]:
    """The settings of a rule by name."""
    settings: Any = rule
    return asdict(settings)


def from_text(text: str) -> Rule:
    """The rule at a setting that a text such as "exponential=0.3" names.

    Raises:
        InputError: The rule is unknown, or the setting is missing or wrong.
    """
    name, _, setting = text.partition("=")
    if name not in RULES:
        raise InputError(f"the filter is '{name[:60]}'{nearest(name, RULES)}")
    try:
        value = float(setting)
    except ValueError:
        raise InputError(
            f"the filter is '{text[:60]}': give its {RULES[name].adjustable}, a number, such as "
            f"{name}=0.3"
        ) from None
    return from_dict({"name": name, RULES[name].adjustable: value})


def from_dict(values: dict[str, Any]) -> Rule:
    """The inverse of `to_dict`.

    Raises:
        InputError: The rule is unknown, or a setting is missing or wrong.
    """
    values = dict(values)
    name = str(values.pop("name", ""))
    if name not in RULES:
        raise InputError(f"the filter is '{name[:60]}'{nearest(name, RULES)}")
    return read_as(RULES[name], values)
