"""What can be adjusted in a trained policy to make it smoother, one row for each kind.

`calibrate` sweeps this setting, and `with_budget` sets it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from policy_inertia.actions.bucket import Limit
from policy_inertia.algorithms.interface import Traits

Policy = Any  # policies/policy.py, which imports this file


class Adjustable(NamedTuple):
    """One kind of setting."""

    name: str
    value: Callable[[Policy], float | None]
    """The setting of a policy; None if it has none yet."""
    at: Callable[[Policy, float], Policy]
    """The policy at another setting."""
    lower_is_smoother: bool = False


def _at_rate(policy: Policy, rate: float) -> Policy:
    """The policy with another rate of its limit; a new limit has the largest burst."""
    per_head = policy.algorithm.per_head
    limit = policy.limit or Limit(rate, policy.largest_burst, per_head=per_head)
    return policy.within(replace(limit, rate=rate))


PRICE = Adjustable("price", lambda p: p.price, lambda p, price: p.at(price))
RATE = Adjustable("rate", lambda p: 1.0 if p.limit is None else p.limit.rate, _at_rate, True)
THRESHOLD = Adjustable("threshold", lambda p: p.hysteresis, lambda p, tau: p.with_hysteresis(tau))


def adjustable_of(traits: Traits) -> Adjustable:
    """The price of a dial, the rate of a method that plans with limits, or else a threshold."""
    if traits.dial:
        return PRICE
    return RATE if traits.limit else THRESHOLD
