"""A gate for each head: a head repeats its last action, or follows the core, whatever others do.

The critics have a branch for each head, U_d(s, a_prev, a_d): the value of a head's action, as a
mean over what the other heads do (see `branching_losses`). So there are as many outputs as the
heads have actions together, however many combinations there are. All heads learn from one target,

    r + gamma (mean_d U_d(s', a'_d) - lambda sum_d c_d (1[a'_d != a_d] - x0)),

and head d repeats where U_d(a_prev_d) + lambda c_d >= U_d(the core's action). What an action mask
forbids is never repeated, neither by the policy nor in that target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import branching_losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.gate import GateConfig
from policy_inertia.algorithms.controllers.priced import Priced, PricedParams
from policy_inertia.algorithms.controllers.priced_critics import NextDecisions
from policy_inertia.algorithms.controllers.task_scale import TaskScale, with_worth
from policy_inertia.algorithms.interface import AlgorithmConfig, Traits
from policy_inertia.algorithms.nested import ControllerParts
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Number


@dataclass(frozen=True)
class HeadGateConfig(GateConfig):
    """Settings of a gate for each head."""

    head_prices: tuple[float, ...] | None = None
    """What a switch of each head costs, as a multiple of the price. None: 1 for every head."""

    rule: ClassVar[str] = "head-gate"

    @property
    def traits(self) -> Traits:
        return replace(super().traits, actions="multi_discrete")

    def controller(self, spec: Spec) -> HeadGate:
        return HeadGate(self, spec)

    def parts(self, params: PricedParams) -> ControllerParts:
        own = super().parts(params)
        each = {f"head_price_{d}": price for d, price in enumerate(self.head_prices or ())}
        return replace(own, numbers={**own.numbers, **each})

    def modes(self, params: PricedParams) -> list[tuple[AlgorithmConfig, PricedParams]]:
        return [(self, params)]

    def mode(self, params: PricedParams) -> str:
        return "repeats or follows its core in each head"


class HeadGate(Priced):
    """Act by twin critics with a branch for each head."""

    def __init__(self, config: HeadGateConfig, spec: Spec) -> None:
        if config.costs is not None:
            raise InputError(
                "costs is a table for one list of actions, and these have several heads: give "
                "head_prices, a number for each head"
            )
        super().__init__(config, spec)
        actions, self.parts = self.actions, self.actions.parts
        each = (1.0,) * len(actions.sizes) if config.head_prices is None else config.head_prices
        if len(each) != len(actions.sizes) or not all(0 <= price < np.inf for price in each):
            raise InputError(
                f"head_prices is {each}: give a number from 0 on for each of the "
                f"{len(actions.sizes)} heads"
            )
        self.head_prices = np.array(each, np.float32)
        self.weights = np.repeat(self.head_prices, actions.sizes)
        """The price of each action's head."""
        self.choose = partial(branching_losses.gate_heads, parts=self.parts)
        self.residual = partial(branching_losses.branching_residual, parts=self.parts)

    def _chosen(self, u: Array, action: Array) -> Array:
        """The values of the heads' actions, (B, H)."""
        return branching_losses.chosen_heads(u, action, self.parts)

    def net(self, u: Array, price: Number, last: Array) -> Array:
        return prices.net(u, price, last * self.weights)

    def charge(self, price: Number, last: Array, action: Array, refund: Number) -> Array:
        switched = (action != last).astype(np.float32)
        return price * ((switched - refund) @ self.head_prices)

    def state_value(self, u: Array, action: Array) -> Array:
        return self._chosen(u, action).mean(-1)

    def likeliest(self, log_core: Array, xp: Any = jnp) -> Array:
        return branching_losses.likeliest_heads(log_core, self.parts, xp)

    def repeatable(self, prev_action: Array, log_core: Array) -> Array:
        return branching_losses.allowed_previous_heads(prev_action, log_core, self.parts)

    def with_decisions(
        self, scale: TaskScale, following: NextDecisions, unit: Array, last: Array, free: Array
    ) -> TaskScale:
        core, u = following.core_action, following.u * unit
        worth = jnp.abs(self._chosen(u, core) - self._chosen(u, last))
        return with_worth(scale, worth, free & (core != last))

    def hold_probability(
        self, params: PricedParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        raise InputError("a gate for each head cannot decide for an agent: use the policy itself")
