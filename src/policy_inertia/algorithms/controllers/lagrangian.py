"""One run for one budget: a single price of switching, which follows the measured oscillation.

The dual ascent is that of C. Tessler, D. Mankowitz, S. Mannor: "Reward constrained policy
optimization", ICLR 2019, with a value for each (s, a_prev, a) instead of a policy gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.discrete import Categorical
from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.dial import free_choice
from policy_inertia.algorithms.controllers.priced_critics import PricedCritics
from policy_inertia.algorithms.controllers.valued import (
    Choice,
    ValuedConfig,
    certain,
    holds,
    one_by_one,
)
from policy_inertia.algorithms.controllers.warm_up import WATCHED
from policy_inertia.algorithms.interface import Acting, Algorithm, CoreOutputs, Traits
from policy_inertia.algorithms.learning import Critics
from policy_inertia.algorithms.nested import Controller, ControllerParts, NestedState, nested
from policy_inertia.algorithms.value_scale import divisor, known_size, times
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError, refuse_outside
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.types import Array, Transition, Tree


def dual_ascent(price: float, xi: float, budget: float, step: float) -> float:
    """lambda <- max(0, lambda + eta (xi - budget)): RCPO's update of the multiplier.

    Args:
        price: lambda, in the unit of the rewards.
        xi: The oscillation ratio that was measured.
        budget: The one that is aimed at.
        step: eta, in the unit of the rewards.
    """
    return max(0.0, price + step * (xi - budget))


@dataclass(frozen=True)
class LagrangianConfig(ValuedConfig):
    """Settings of a controller whose price follows one budget of oscillation."""

    budget: float = 0.1
    """The oscillation ratio to aim at, in switches per step."""
    price_rate: float = 0.1
    """How fast the price follows: an episode moves it by this number, times the root mean square of
    the rewards, times the difference between the episode's oscillation ratio and the budget."""
    measured_share: float = 0.2
    """Share of the training episodes that the policy runs alone, without random actions; in these
    the oscillation is measured."""

    rule = "free"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 0, 1, "budget")
        refuse_outside(self, 0, None, "price_rate")
        if not 0 < self.measured_share <= 1 - self.core_share:
            raise InputError(
                f"measured_share is {self.measured_share}: give a share above 0 that core_share "
                f"({self.core_share}) leaves"
            )

    @property
    def traits(self) -> Traits:
        frozen = self.core.traits.frozen
        return Traits(
            scores="values", deterministic=True, nested=True, frozen=frozen, one_budget=True
        )

    @property
    def choice(self) -> Choice:
        return free_choice

    def parts(self, params: LagrangianParams) -> ControllerParts:
        numbers = {"fixed_price": float(params.price)}
        twins, mean = one_by_one(params.critics), not self.pessimistic
        return ControllerParts(self.rule, twins, numbers, mean=mean)

    def controller(self, spec: Spec) -> Controller:
        return Lagrangian(self, spec)

    def build(self, spec: Spec) -> Algorithm:
        controller = Lagrangian(self, spec)
        algorithm = nested(self.core.build(spec), controller, spec)

        def finish(state: NestedState, drawn: np.ndarray) -> NestedState:
            own = controller.finish(state.controller, drawn)
            return state if own is state.controller else state._replace(controller=own)

        behaviour = replace(
            algorithm.behaviour,
            track=controller.track,
            explores=controller.explores,
            finish=finish,
        )
        return replace(algorithm, behaviour=behaviour)


class LagrangianState(NamedTuple):
    critics: Critics
    size: Array  # the unit of the critics; see `value_scale`
    price: Array  # lambda, in the unit of the rewards
    mean_square: Array  # of all rewards so far
    updates: Array


class LagrangianParams(NamedTuple):
    critics: Tree  # twins, joined as in learning
    price: Array


class Lagrangian(PricedCritics):
    """Take the best action after the price is paid; the price follows the budget."""

    def __init__(self, config: LagrangianConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.config = config
        self.price_rate, self.first_measured = config.price_rate, 1 - config.measured_share

    def init(self, rng: np.random.Generator) -> LagrangianState:
        critics = self.init_critics(rng)
        # each is an array of its own: a donated state must not hold one buffer twice
        size, price, mean_square = (jnp.zeros(()) for _ in range(3))
        return LagrangianState(critics, size, price, mean_square, jnp.uint32(0))

    def update(
        self, state: LagrangianState, batch: Transition, core: CoreOutputs
    ) -> tuple[LagrangianState, dict[str, Array]]:
        updates = state.updates + 1
        change = ((batch.reward**2).mean() - state.mean_square) / updates
        size = known_size(state.size, batch.reward)
        unit = divisor(size)
        price = state.price / unit
        following = self.decide_next(state.critics, batch, core, price, None, state.updates)
        # r - lambda (1[a != a_prev] - budget) is the Lagrangian of "at most the budget per step"
        refund = self.config.budget
        critics, size, loss = self.evaluate(
            state.critics, size, unit, batch, following, price, refund
        )
        new = LagrangianState(critics, size, state.price, state.mean_square + change, updates)
        return new, {"mixed_critic_loss": loss, "price": state.price}

    # --- acting ---------------------------------------------------------------------------------

    def acting(self, state: LagrangianState) -> LagrangianParams:
        # the targets: averages over many updates, which jitter less
        return LagrangianParams(times(state.critics.target, divisor(state.size)), state.price)

    def _values(self, params: LagrangianParams, obs: Array, prev_action: Array, xp: Any) -> Array:
        """Q(s, a_prev, .) at the price."""
        last = one_hot(prev_action, self.n_actions, xp)
        u = self.valued.joined(self.value(params.critics, obs, last, xp))
        return prices.net(u, params.price, last)

    def apply(
        self, params: LagrangianParams, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        q = self._values(params, obs, prev_action, xp)
        if self.masked:
            q = losses.allowed_values(q, core.policy.log_pi, xp)
        mu, action = self.choose(q, core.policy.log_pi, prev_action, 0.0, xp)
        return Acting(certain(action, self.actions, xp), core.policy, mu, q)

    def hold_probability(
        self, params: LagrangianParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        q = self._values(params, obs, prev_action, np)
        return holds(q, prev_action, action)

    # --- training episodes ----------------------------------------------------------------------

    def draw(self, step: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the kind of an episode; its switches and its steps are counted from 0."""
        kind = WATCHED if self.warm_up.watches(step, rng) else rng.random()
        return np.array([kind, 0.0, 0.0])

    def explores(self, drawn: np.ndarray) -> np.ndarray:
        """In all episodes but those in which the oscillation is measured."""
        return np.asarray(drawn[..., 0] < self.first_measured)

    def track(self, drawn: np.ndarray, prev_action: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Count the switches and the steps."""
        switched = (prev_action >= 0) & (action != prev_action)
        return drawn + np.stack([0 * switched, switched, 1 + 0 * switched], 1)

    def finish(self, state: LagrangianState, drawn: np.ndarray) -> LagrangianState:
        """Move the price by the oscillation ratio of an episode that was measured."""
        _, switches, steps = drawn
        if self.explores(drawn):
            return state
        step = self.price_rate * float(state.mean_square) ** 0.5
        price = dual_ascent(float(state.price), switches / steps, self.config.budget, step)
        return state._replace(price=jnp.float32(price))

    def explore(
        self,
        params: LagrangianParams,
        obs: np.ndarray,
        prev: np.ndarray,
        core: Acting,
        drawn: np.ndarray,
    ) -> Categorical:
        """The core alone, the policy alone (measured), or the policy with some of the core."""
        kind = drawn[:, 0]
        own = self.apply(params, obs, prev, core, np).policy
        mixed = self.config.explored(own, core.policy, kind < self.config.core_share)
        policy = Categorical(np.where(self.explores(drawn)[:, None], mixed.log_pi, own.log_pi))
        return self.warm_up.policy(policy, core.policy, prev, kind)
