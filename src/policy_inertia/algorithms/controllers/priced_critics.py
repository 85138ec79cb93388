"""Twin critics of the value before the price of a switch is paid, and how they learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.valued import (
    ValuedConfig,
    averaged_policy,
    init_valued,
)
from policy_inertia.algorithms.controllers.warm_up import WarmUp
from policy_inertia.algorithms.interface import CoreOutputs, Parameters
from policy_inertia.algorithms.learning import Critics, adam
from policy_inertia.algorithms.value_scale import scaled_evaluation
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree


class NextDecisions(NamedTuple):
    """What follows the transitions of a minibatch."""

    inputs: Array
    """(B, A + price_inputs) what the critics see beside the observations: a_prev, the price."""
    u: Array
    """(B, A) U at the next observations, by the targets."""
    action: Array
    """(B,) the next actions; (B, H) for several heads."""
    core_action: Array
    """What the core would do, in the same shape."""


class PricedCritics:
    """What controllers share for which switching has a price: U(s, a_prev, a) and its update.

    The methods from `net` on are for one list of actions; `head_gate` has those for several heads.
    """

    residual: Any = staticmethod(losses.bellman_residual)

    def __init__(
        self,
        config: ValuedConfig,
        spec: Spec,
        price_inputs: int = 0,
        costs: tuple[float, ...] | None = None,
    ) -> None:
        self.costs = prices.cost_table(costs, spec.actions.width)
        self.valued, self.n_actions = config, spec.actions.width
        self.actions: Any = spec.actions
        self.choose, self.masked = config.choice, spec.masked
        self.interval, self.at_once = config.train_interval, config.at_once
        self.value = Network(spec, config.hidden, self.n_actions, self.n_actions + price_inputs)
        self.optimiser = adam(config.learning_rate)
        self.noise = config.reward_noise(spec)
        self.warm_up = WarmUp(config.warmup, config.noise, spec.actions)

    def init_critics(self, rng: np.random.Generator) -> Critics:
        """Make the twins, with an average if the policy acts by it."""
        return init_valued(rng, self.value, self.valued, self.noise)

    @property
    def policy(self) -> Parameters | None:
        return averaged_policy(self.acting, self.valued)

    def acting(self, state: Tree) -> Tree:
        """Take from the state what acting needs."""
        raise NotImplementedError

    def decide_next(
        self,
        critics: Critics,
        batch: Transition,
        core: CoreOutputs,
        price: Number,
        features: Array | None,
        updates: Array,
    ) -> NextDecisions:
        """Decide at the next observations, at a price.

        Args:
            critics: The twins.
            batch: Transitions.
            core: The core's distributions at them.
            price: The price of a switch in the unit of the values: one, or one for each row.
            features: (B, price_inputs) what the critics see of the price; None: nothing.
            updates: The updates so far.
        """
        config = self.valued
        now, then = (self.actions.encode(a, jnp) for a in (batch.prev_action, batch.action))
        last = then
        if features is not None:
            now, then = (jnp.concatenate([hot, features], -1) for hot in (now, then))
        u_twins = self.value(critics.target, batch.next_obs, then)
        u_choosing, u_next = (join(u_twins) for join in config.joins(updates))
        # this decision's price is no part of U; the next decision's price is still to be paid
        q_next = self.net(u_choosing, jnp.asarray(price)[..., None], last)
        if self.masked:
            q_next = losses.allowed_values(q_next, core.next.log_pi)
        action_next = self.choose(q_next, core.next.log_pi, batch.action)[1]
        core_next = self.likeliest(core.next.log_pi)
        if config.warmup:  # evaluate the core before improving on it
            watching = updates < config.warmup // config.train_interval
            action_next = jnp.where(watching, core_next, action_next)
        return NextDecisions(now, u_next, action_next, core_next)

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
        """Take one step of policy evaluation, `value_scale.scaled_evaluation`, at a price.

        Args:
            critics: The twins before the step; they hold U / size.
            size: Their size; see `value_scale`.
            unit: `divisor(size)`.
            batch: Transitions.
            following: What `decide_next` gives for them.
            price: As in `decide_next`.
            refund: Free switches per step.
        """
        config = self.valued
        cost = batch.discount * self.charge(price, batch.action, following.action, refund)
        reward = batch.reward / unit
        batch = batch._replace(reward=reward - cost)
        return scaled_evaluation(
            critics,
            size,
            self.value,
            self.optimiser,
            batch,
            following.inputs,
            self.state_value(following.u, following.action),
            config.target_rate,
            config.huber,
            config.at_once,
            self.residual,
            config.average_rate,
            self.noise,
            reward,
        )

    # --- the form of the actions ----------------------------------------------------------------

    def net(self, u: Array, price: Number, last: Array) -> Array:
        """Q(s, a_prev, .): U and the price of leaving a_prev, whose one-hot is `last`."""
        return prices.net(u, price, last, self.costs)

    def charge(self, price: Number, last: Array, action: Array, refund: Number) -> Array:
        """(B,) what these actions cost after those."""
        return prices.charge(price, last, action, refund, self.costs)

    def state_value(self, u: Array, action: Array) -> Array:
        """(B,) the value of a state in which these actions are taken."""
        return losses.chosen(u, action)

    def likeliest(self, log_core: Array, xp: Any = jnp) -> Array:
        """What the core would do."""
        return log_core.argmax(-1)

    def repeatable(self, prev_action: Array, log_core: Array) -> Array:
        """The previous actions, or -1 where they are forbidden now."""
        return losses.allowed_previous(prev_action, log_core)
