"""A gate for each head: a head repeats its last action, or follows the core, whatever others do.

The critics have a branch for each head, U_d(s, a_prev, a_d): the value of a head's action, as a
mean over what the other heads do (see `branching_losses`). So there are as many outputs as the
heads have actions together, however many combinations there are. All heads learn from one target,

    r + gamma (mean_d U_d(s', a'_d) - lambda sum_d c_d (1[a'_d != a_d] - x0)),

and head d repeats where U_d(a_prev_d) + lambda c_d >= U_d(the core's action).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import branching_losses, losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.gate import GateConfig
from policy_inertia.algorithms.controllers.priced import Priced, PricedParams
from policy_inertia.algorithms.controllers.priced_critics import NextDecisions
from policy_inertia.algorithms.controllers.task_scale import TaskScale, with_worth
from policy_inertia.algorithms.controllers.warm_up import log_probabilities
from policy_inertia.algorithms.interface import Acting, AlgorithmConfig, CoreOutputs, Traits
from policy_inertia.algorithms.learning import Critics
from policy_inertia.algorithms.nested import ControllerParts
from policy_inertia.algorithms.value_scale import scaled_evaluation
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Number, Transition


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
        if spec.masked:
            raise InputError(
                "the heads have action masks, with which no controller is trained: smooth this "
                "policy with filters and limits"
            )
        super().__init__(config, spec)
        actions: Any = spec.actions
        self.actions, self.parts = actions, actions.parts
        each = (1.0,) * len(actions.sizes) if config.head_prices is None else config.head_prices
        if len(each) != len(actions.sizes) or not all(0 <= price < np.inf for price in each):
            raise InputError(
                f"head_prices is {each}: give a number from 0 on for each of the "
                f"{len(actions.sizes)} heads"
            )
        self.head_prices = np.array(each, np.float32)
        self.weights = np.repeat(self.head_prices, actions.sizes)
        """The price of each action's head."""
        self.heads = np.repeat(np.eye(len(each), dtype=np.float32), actions.sizes, 0)
        """(width, H) which head each action belongs to."""

    def _chosen(self, q: Array, action: Array, xp: Any = jnp) -> Array:
        """The values of the heads' actions: (B, width) and (B, H) -> (B, H)."""
        return (q * self.actions.encode(action, xp)) @ self.heads

    def _gate(self, q: Array, log_core: Array, prev: Array, xp: Any = jnp) -> tuple[Array, Array]:
        """mu and the action of each head, (B, H) each; see `losses.gate`."""
        each = [
            losses.gate(q[..., part], log_core[..., part], prev[..., d], xp)
            for d, part in enumerate(self.parts)
        ]
        return xp.stack([mu for mu, _ in each], -1), xp.stack([a for _, a in each], -1)

    def _best(self, scores: Array, xp: Any = jnp) -> Array:
        """The best action of each head, (B, H)."""
        return xp.stack([scores[..., part].argmax(-1) for part in self.parts], -1)

    # --- learning -------------------------------------------------------------------------------

    def decide_next(
        self,
        critics: Critics,
        batch: Transition,
        core: CoreOutputs,
        price: Number,
        features: Array | None,
        updates: Array,
    ) -> NextDecisions:
        config = self.valued
        now, last = (self.actions.encode(a, jnp) for a in (batch.prev_action, batch.action))
        then = last
        if features is not None:
            now, then = (jnp.concatenate([hot, features], -1) for hot in (now, then))
        u_next = self.value(critics.target, batch.next_obs, then).min(0)
        q_next = prices.net(u_next, jnp.asarray(price)[..., None], last * self.weights)
        action_next = self._gate(q_next, core.next.log_pi, batch.action)[1]
        core_next = self._best(core.next.log_pi)
        if config.warmup:  # evaluate the core before improving on it
            watching = updates < config.warmup // config.train_interval
            action_next = jnp.where(watching, core_next, action_next)
        return NextDecisions(now, u_next, action_next, core_next)

    def with_decisions(
        self, scale: TaskScale, following: NextDecisions, unit: Array, last: Array, free: Array
    ) -> TaskScale:
        core, u = following.core_action, following.u * unit
        worth = jnp.abs(self._chosen(u, core) - self._chosen(u, last))
        return with_worth(scale, worth, free[:, None] & (core != last))

    def evaluate(
        self,
        critics: Critics,
        size: Array,
        unit: Array,
        batch: Transition,
        following: NextDecisions,
        price: Number,
        refund: Number,
    ) -> tuple[Critics, Array, Array]:
        config = self.valued
        switched = (following.action != batch.action).astype(np.float32)
        charge = price * ((switched - refund) @ self.head_prices)
        batch = batch._replace(reward=batch.reward / unit - batch.discount * charge)
        return scaled_evaluation(
            critics,
            size,
            self.value,
            self.optimiser,
            batch,
            following.inputs,
            self._chosen(following.u, following.action).mean(-1),
            config.target_rate,
            config.huber,
            config.at_once,
            partial(branching_losses.branching_residual, parts=self.parts),
        )

    # --- acting ---------------------------------------------------------------------------------

    def _values(self, params: PricedParams, obs: Array, prev_action: Array, xp: Any) -> Array:
        last = self.actions.encode(prev_action, xp)
        inputs: Array | tuple[Array, ...] = last
        price: Number = self.fixed
        if params.dial is not None:
            inputs = (last, params.dial.features + xp.zeros((len(obs), 1), np.float32))
            price = params.dial.cost[..., None]
        u = self.value(params.critics, obs, inputs, xp).min(0)
        return prices.net(u, price, last * self.weights)

    def hold_probability(
        self, params: PricedParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        raise InputError("a gate for each head cannot decide for an agent: use the policy itself")

    def apply(
        self, params: PricedParams, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        q, log_core = self._values(params, obs, prev_action, xp), core.policy.log_pi
        if params.dial is not None:
            favoured = self.actions.encode(self._best(log_core, xp), xp)
            q = q + xp.asarray(params.dial.margin)[..., None] * favoured
        mu, action = self._gate(q, log_core, prev_action, xp)
        log_pi = (1 - self.actions.encode(action, xp)) * np.float32(losses.LOG_ZERO)
        return Acting(self.actions.distribution(log_pi), core.policy, mu, q)

    def explore(
        self,
        params: PricedParams,
        obs: np.ndarray,
        prev: np.ndarray,
        core: Acting,
        drawn: np.ndarray,
    ) -> Any:
        config, log_core = self.config, core.policy.log_pi
        own = self.apply(self.at_drawn(params, drawn), obs, prev, core, np).policy
        log_pi = config.explored(own, core.policy, drawn < config.core_share).log_pi
        watched = drawn[:, None] < 0
        if watched.any():
            known = ~np.asarray(self.actions.is_null(prev))[:, None]
            repeat, last = self.warm_up.repeats * known, self.actions.encode(prev)
            watching = log_probabilities((1 - repeat) * np.exp(log_core) + repeat * last)
            log_pi = np.where(watched, watching, log_pi)
        return self.actions.distribution(log_pi)
