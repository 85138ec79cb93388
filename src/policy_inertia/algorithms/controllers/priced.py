"""Controllers for which switching has a price: the settings and twin critics that they share.

The critics learn U(s, a_prev, a): the value before the price of the action at hand is paid. With
`price=None` they learn it for all prices at once, and the price is set after training: a dial.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.controllers.priced_critics import NextDecisions, PricedCritics
from policy_inertia.algorithms.controllers.task_scale import (
    TaskScale,
    unknown_scale,
    with_decisions,
    with_rewards,
)
from policy_inertia.algorithms.controllers.valued import ValuedConfig, certain, holds, one_by_one
from policy_inertia.algorithms.controllers.warm_up import WATCHED
from policy_inertia.algorithms.interface import (
    Acting,
    Algorithm,
    AlgorithmConfig,
    CoreOutputs,
    Dial,
    Traits,
)
from policy_inertia.algorithms.learning import Critics
from policy_inertia.algorithms.nested import (
    Controller,
    ControllerParts,
    NestedParams,
    nested,
)
from policy_inertia.algorithms.value_scale import (
    divisor,
    known_size,
    times,
)
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_outside
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class PricedConfig(ValuedConfig):
    """Settings of a controller for which switching has a price, lambda."""

    price: float | None = None
    """One fixed price of a switch; None learns all prices from 0 to the largest in one run."""
    largest: float = 10.0
    """The largest price, as a multiple of what a decision between the core's action and the last
    one is worth on average: the difference of their values."""
    refund: float | None = None
    """Free switches per step (x0): each step earns this share of the price back. None: 0.1 times
    the median reward over the largest that is not extreme, limited to [0, 0.1]. So staying alive
    remains worth while where it is the task, and waiting is not paid where it is to arrive."""
    costs: tuple[float, ...] | None = None
    """What a switch from action i to action j costs, as a multiple of the price: a table, row by
    row, with zeros on its diagonal. None: every switch costs 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 0, None, "largest")
        if self.price is not None:
            refuse_outside(self, 0, None, "price")
        if self.refund is not None:
            refuse_outside(self, 0, 1, "refund")

    @property
    def traits(self) -> Traits:
        return Traits(
            scores="values",
            deterministic=True,
            nested=True,
            frozen=self.core.traits.frozen,
            dial=self.price is None,
        )

    def modes(self, params: PricedParams) -> list[tuple[AlgorithmConfig, PricedParams]]:
        """The ways to act by what was learned."""
        raise NotImplementedError

    def mode(self, params: PricedParams) -> str:
        """How it acts, in a few words."""
        raise NotImplementedError

    def controller(self, spec: Spec) -> Controller:
        return Priced(self, spec)

    def parts(self, params: PricedParams) -> ControllerParts:
        twins, mean = one_by_one(params.critics), not self.pessimistic
        if params.dial is None:
            fixed = {"fixed_price": self.price or 0.0}
            return ControllerParts(self.rule, twins, fixed, self.costs, mean)
        numbers = {
            "price": float(params.dial.price),
            "largest_price": float(params.dial.largest),
            "critics_begin": float(params.dial.critics_begin),
        }
        return ControllerParts(self.rule, twins, numbers, self.costs, mean)

    def build(self, spec: Spec) -> Algorithm:
        controller: Any = self.controller(spec)
        algorithm = nested(self.core.build(spec), controller, spec)
        if self.price is not None:
            return algorithm

        def at(params: NestedParams, price: Number) -> NestedParams:
            prices.refuse_price(price, params.controller.dial.largest)
            return params._replace(controller=controller.at(params.controller, price))

        def modes(params: NestedParams) -> list[tuple[AlgorithmConfig, Tree]]:
            ways = self.modes(params.controller)
            return [(config, params._replace(controller=own)) for config, own in ways]

        return Dial(
            **{field.name: getattr(algorithm, field.name) for field in fields(algorithm)},
            at=at,
            price=lambda params: params.controller.dial.price,
            largest_price=lambda params: params.controller.dial.largest,
            modes=modes,
            mode=lambda params: self.mode(params.controller),
        )


class PricedState(NamedTuple):
    critics: Critics
    scale: TaskScale


class DialSetting(NamedTuple):
    """What a dial is set to: one price for all rows, or one for each."""

    price: Number  # below 0: a margin instead
    largest: Array
    cost: Array  # of leaving the last action
    margin: Array  # by which an action must be better than the core's
    features: Array  # what networks see of the price
    critics_begin: Number  # whether a gate's critics choose an episode's first action, or its core


class PricedParams(NamedTuple):
    critics: Tree  # twins, joined as in learning
    dial: DialSetting | None  # None for one fixed price


class Priced(PricedCritics):
    """Act by twin critics of the value before the price; `config.choice` says how."""

    def __init__(self, config: PricedConfig, spec: Spec) -> None:
        price_inputs = prices.FEATURES if config.price is None else 0
        super().__init__(config, spec, price_inputs, config.costs)
        self.config, self.fixed = config, config.price or 0.0

    def init(self, rng: np.random.Generator) -> PricedState:
        critics = self.init_critics(rng)
        return PricedState(critics, unknown_scale())

    def update(
        self, state: PricedState, batch: Transition, core: CoreOutputs
    ) -> tuple[PricedState, dict[str, Array]]:
        config = self.config
        scale = with_rewards(state.scale, batch.reward)
        size = known_size(scale.values, batch.reward)
        unit = divisor(size)
        price, x, features = self.fixed / unit, None, None  # prices in the unit of the values
        if config.price is None:
            x = prices.draw(prices.spread(state.scale.updates, len(batch.action)))
            price, features = x * (config.largest * scale.decision / unit), prices.features(x)
        refund: Number = prices.REFUND * prices.earning(scale.typical, scale.high)
        refund = refund if config.refund is None else config.refund
        following = self.decide_next(
            state.critics, batch, core, price, features, state.scale.updates
        )
        if x is not None:
            decided = (x == 0).reshape(-1, *(1,) * (batch.action.ndim - 1))
            if self.masked:  # where the last action is forbidden, there is nothing to decide
                decided &= self.repeatable(batch.action, core.next.log_pi) >= 0
            scale = self.with_decisions(scale, following, unit, batch.action, decided)
        critics, size, loss = self.evaluate(
            state.critics, size, unit, batch, following, price, refund
        )
        return PricedState(critics, scale._replace(values=size)), {"mixed_critic_loss": loss}

    def with_decisions(
        self, scale: TaskScale, following: NextDecisions, unit: Array, last: Array, free: Array
    ) -> TaskScale:
        """The scale after a minibatch's decisions; see `task_scale.with_decisions`."""
        return with_decisions(scale, following.u * unit, last, following.core_action, free)

    def acting(self, state: PricedState) -> PricedParams:
        # the targets: averages over many updates, which jitter less
        critics = times(state.critics.target, divisor(state.scale.values))
        if self.config.price is not None:
            return PricedParams(critics, None)
        largest = self.config.largest * state.scale.decision
        zero = jnp.float32(0)
        dial = DialSetting(zero, largest, zero, zero, prices.features(zero), zero)
        return PricedParams(critics, dial)

    def at(self, params: PricedParams, price: Number) -> PricedParams:
        """Set the dial to a price; below 0, to a margin, and at -largest to the core itself."""
        assert params.dial is not None
        cost, margin = prices.cost_and_margin(price, params.dial.largest)
        # before the first reward the largest price is 0; nothing beyond it was learned
        x = cost / max(params.dial.largest, np.finfo(np.float32).tiny)
        x = np.minimum(x, np.float32(1), dtype=np.float32)
        return params._replace(
            dial=params.dial._replace(
                price=np.float32(price), cost=cost, margin=margin, features=prices.features(x, np)
            )
        )

    def _values(self, params: PricedParams, obs: Array, prev_action: Array, xp: Any) -> Array:
        """Q(s, a_prev, .) at the price that is set."""
        last = self.actions.encode(prev_action, xp)
        dial = params.dial
        inputs: Array | tuple[Array, ...] = last
        if dial is not None:
            row_for_each = xp.zeros((len(obs), 1), np.float32)
            inputs = (last, dial.features + row_for_each)
        price: Number = dial.cost[..., None] if dial is not None else self.fixed
        u = self.config.joined(self.value(params.critics, obs, inputs, xp))
        return self.net(u, price, last)

    def hold_probability(
        self, params: PricedParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        q = self._values(params, obs, prev_action, np)
        margin = 0.0 if params.dial is None else params.dial.margin
        return holds(q, prev_action, action, margin)

    def apply(
        self, params: PricedParams, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        q = self._values(params, obs, prev_action, xp)
        dial, log_core = params.dial, core.policy.log_pi
        begin: Number = 0.0
        if dial is not None:
            begin = dial.critics_begin
            if xp is not np or np.any(dial.margin):  # saves microseconds
                favoured = self.actions.encode(self.likeliest(log_core, xp), xp)
                q = prices.favour(q, dial.margin, favoured, xp)
        if self.masked:
            q = losses.allowed_values(q, log_core, xp)
        mu, action = self.choose(q, log_core, prev_action, begin, xp)
        return Acting(certain(action, self.actions, xp), core.policy, mu, q)

    def draw(self, step: int, rng: np.random.Generator) -> float:
        return WATCHED if self.warm_up.watches(step, rng) else rng.random()

    def at_drawn(self, params: PricedParams, drawn: np.ndarray) -> PricedParams:
        """The dial at the price of each training episode, by its number."""
        if params.dial is None:
            return params
        share = self.config.core_share
        rest = (drawn - share) / max(1 - share, 1e-9)
        return self.at(params, prices.draw(np.maximum(rest, 0), np) * params.dial.largest)

    def explore(
        self,
        params: PricedParams,
        obs: np.ndarray,
        prev: np.ndarray,
        core: Acting,
        drawn: np.ndarray,
    ) -> Any:
        """In a share of the episodes the core alone, else the controller at the episode's price.

        A number below `core_share` means the core; the rest of the range gives the price.
        """
        config = self.config
        own = self.apply(self.at_drawn(params, drawn), obs, prev, core, np).policy
        policy = config.explored(own, core.policy, drawn < config.core_share)
        return self.warm_up.policy(policy, core.policy, prev, drawn)
