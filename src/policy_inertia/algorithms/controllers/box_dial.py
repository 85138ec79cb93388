"""The dial for Box actions: one training run for every price of movement.

The critics learn U(s, a, lambda), the value before the price of the move to `a` is paid, for all
lambda at once: Q(s, a_prev, a, lambda) = U(s, a, lambda) - lambda c(a, a_prev). An actor that sees
lambda improves Q: it goes a part of the way from the last action to the core's, or anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.box import Point
from policy_inertia.actions.gaussian import Either, NoisyPoint
from policy_inertia.algorithms import box_losses
from policy_inertia.algorithms.box_learning import certain_action, evaluation, lower_value
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.interface import (
    Acting,
    Algorithm,
    AlgorithmConfig,
    CoreOutputs,
    Dial,
    Traits,
)
from policy_inertia.algorithms.learning import Critics, adam, descend, init_critics
from policy_inertia.algorithms.losses import bellman_target
from policy_inertia.algorithms.nested import (
    Controller,
    ControllerParts,
    NestedConfig,
    NestedParams,
    nested,
)
from policy_inertia.algorithms.value_scale import divisor, known_size, next_size, times
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError, refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree

COSTS = {"l1": box_losses.l1_cost, "squared": box_losses.squared_cost}
"""What a move costs, by the name of the setting."""
RATE = 0.005
"""The share of a minibatch in the mean worth of a move."""
OUTSIDE = 0.1
"""Weight of the square by which mu's pre-activation lies outside [0, 1]."""


@dataclass(frozen=True)
class BoxDialConfig(NestedConfig):
    """Settings of a controller for every price of movement."""

    cost: Literal["l1", "squared"] = "l1"
    """What a move costs, as a share of the range: its size (dead band and exact repeats), or its
    square (a low-pass that depends on the state)."""
    full: bool = False
    """Act freely, instead of going a part of the way from the last action to the core's."""
    largest: float = 10.0
    """The largest price, as a multiple of what a move from the last action to the core's is worth
    on average, for each unit of its cost."""
    learning_rate: float = 3e-4
    """Adam's learning rate for actor and critics."""
    target_rate: float = 0.005
    """Share of the critics that moves into their targets at each update."""
    train_interval: int = 1
    """Transitions collected for each update of the controller."""
    batch_share: float = 1.0
    """Share of each minibatch that the controller learns from; the core learns from all of it. At
    0.5 training is faster, and policies at the largest prices are worse."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer of actor and critics."""
    core_share: float = 0.2
    """Share of the training episodes in which the core acts alone, with its own exploration."""
    noise: float = 0.1
    """Standard deviation of the noise on the controller's actions while it learns, in halves of the
    range."""
    warmup: int = 0
    """Transitions in which the controller stays what it is while its critics learn: around a good
    core it starts as the core, and the critics first learn what the core is worth."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "largest", "noise")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate", "core_share", "batch_share")
        refuse_outside(self, 0, None, "warmup")
        if self.cost not in COSTS:
            raise InputError(f"cost is {self.cost!r}: give one of {', '.join(COSTS)}")

    @property
    def traits(self) -> Traits:
        return Traits(
            "values",
            True,
            nested=True,
            frozen=self.core.traits.frozen,
            dial=True,
            acts_freely=self.full,
            actions="box",
        )

    def parts(self, params: BoxDialParams) -> ControllerParts:
        dial = params.dial
        numbers = {"price": float(dial.price), "share": float(dial.share)}
        seen = {f"price_feature_{i}": float(x) for i, x in enumerate(np.ravel(dial.features))}
        largest = {"largest_price": float(dial.largest)}
        rule = "box free" if self.full else "box blend"
        return ControllerParts(rule, (params.actor,), {**numbers, **largest, **seen})

    def controller(self, spec: Spec) -> Controller:
        return BoxDial(self, spec)

    def build(self, spec: Spec) -> Algorithm:
        controller = BoxDial(self, spec)
        algorithm = nested(self.core.build(spec), controller, spec)

        def at(params: NestedParams, price: Number) -> NestedParams:
            prices.refuse_price(price, params.controller.dial.largest)
            return params._replace(controller=controller.at(params.controller, price))

        def modes(params: NestedParams) -> list[tuple[AlgorithmConfig, Tree]]:
            return [(self, params)]

        return Dial(
            **{field.name: getattr(algorithm, field.name) for field in fields(algorithm)},
            at=at,
            price=lambda params: params.controller.dial.price,
            largest_price=lambda params: params.controller.dial.largest,
            modes=modes,
            mode=lambda params: "acts freely" if self.full else "goes a part of the core's way",
        )


class BoxDialState(NamedTuple):
    actor: Tree
    critics: Critics
    actor_optimiser: Tree
    size: Array  # the unit of the critics; see `value_scale`
    worth: Array  # of a move to the core's action, for each unit of its cost
    updates: Array


class BoxDialSetting(NamedTuple):
    """What a dial is set to: one price for all rows, or one for each."""

    price: Number
    largest: Array
    features: Array  # what networks see of the price
    share: Array  # of the controller: below 1 for prices below 0, and 0 is the core itself


class BoxDialParams(NamedTuple):
    actor: Tree
    dial: BoxDialSetting


class BoxDial:
    """Twin critics U(s, a, lambda), and an actor that sees s, a_prev, the core and lambda."""

    at_once = True  # SAC computes its outputs before an update anyway

    def __init__(self, config: BoxDialConfig, spec: Spec) -> None:
        self.config, self.actions, self.cost = config, spec.actions, COSTS[config.cost]
        self.interval = config.train_interval
        (d,) = spec.actions.shape
        inputs = spec.actions.width + d + prices.FEATURES  # the last action, the core's, the price
        self.network = Network(spec, config.hidden, d, extra=inputs)
        self.critic = Network(spec, config.hidden, 1, extra=d + prices.FEATURES)
        self.optimiser = adam(config.learning_rate)

    def init(self, rng: np.random.Generator) -> BoxDialState:
        actor = self.network.init(rng, zero_bias=True)
        if not self.config.full:  # mu starts at 0: the core itself
            actor = times(actor, 0.0)
        critics = init_critics(rng, self.critic, self.optimiser)
        size, worth = jnp.zeros(()), jnp.zeros(())
        return BoxDialState(actor, critics, self.optimiser.init(actor), size, worth, jnp.uint32(0))

    def _moved(
        self, actor: Tree, obs: Array, prev: Array, core: Array, features: Array, xp: Any = jnp
    ) -> tuple[Array, Array, Array]:
        """The action, mu, and mu before it was clipped: (B, d) each."""
        inputs = (self.actions.encode(prev, xp), core.astype(np.float32), features)
        x = self.network(actor, obs, inputs, xp)
        null = self.actions.is_null(prev)[..., None]
        last = xp.where(null, core, prev)
        if self.config.full:
            action = xp.tanh(x)
            return action, (action == last).astype(np.float32), xp.zeros_like(x)
        mu = box_losses.unclipped(x) if xp is jnp else xp.clip(x, 0, 1)
        return box_losses.blend(core, last, mu, xp), mu * ~null, x

    def _u(self, critics: Tree, obs: Array, action: Array, features: Array) -> Array:
        inputs = jnp.concatenate([action, features], -1)
        return lower_value(self.critic, critics, obs, inputs)

    def update(
        self, state: BoxDialState, batch: Transition, core: CoreOutputs
    ) -> tuple[BoxDialState, dict[str, Array]]:
        config = self.config
        rows = max(1, round(config.batch_share * len(batch.action)))
        # rows are drawn at random, so the first ones are as good as any
        batch, now, then = jax.tree.map(
            lambda part: part[:rows], (batch, certain_action(core.now), certain_action(core.next))
        )
        size = known_size(state.size, batch.reward)
        unit = divisor(size)
        places = prices.spread(state.updates, len(batch.action))
        x = prices.draw(places)
        price, features = x * (config.largest * state.worth / unit), prices.features(x)
        action, _, _ = self._moved(state.actor, batch.next_obs, batch.action, then, features)
        # this decision's price is no part of U; the next decision's price is still to be paid
        paid = price * self.cost(action, batch.action)
        u_next = self._u(state.critics.target, batch.next_obs, action, features)
        target = bellman_target(batch.reward / unit, batch.discount, u_next - paid)
        critics, critic_loss, _ = evaluation(
            state.critics,
            self.critic,
            self.optimiser,
            batch,
            target,
            config.target_rate,
            extra=features,
        )
        known = ~self.actions.is_null(batch.prev_action)
        last = jnp.where(known[:, None], batch.prev_action, now)

        def actor_loss(actor: Tree) -> tuple[Array, None]:
            action, _, x = self._moved(actor, batch.obs, batch.prev_action, now, features)
            u = self._u(critics.online, batch.obs, action, features)
            outside = ((x - jnp.clip(x, 0, 1)) ** 2).mean()
            cost = self.cost(action, last) * known
            return box_losses.priced_actor_loss(u, price, cost) + OUTSIDE * outside, None

        actor, actor_optimiser, loss, _ = descend(
            self.optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        if config.warmup:
            waits = state.updates * config.train_interval < config.warmup
            old, new = (state.actor, state.actor_optimiser), (actor, actor_optimiser)
            actor, actor_optimiser = jax.tree.map(lambda a, b: jnp.where(waits, a, b), old, new)
        free = prices.free_rows(places)
        worth = self._worth(
            state, critics.online, batch.obs[free], last[free], now[free], x[free] == 0, unit
        )
        size, factor = next_size(size, target)
        critics = critics._replace(
            online=times(critics.online, factor), target=times(critics.target, factor)
        )
        state = BoxDialState(actor, critics, actor_optimiser, size, worth, state.updates + 1)
        return state, {"mixed_critic_loss": critic_loss, "dial_actor_loss": loss}

    def _worth(
        self,
        state: BoxDialState,
        critics: Tree,
        obs: Array,
        last: Array,
        core: Array,
        free: Array,
        unit: Array,
    ) -> Array:
        """The mean of |U(s, core's action) - U(s, a_prev)| over the mean cost of that move."""
        features = jnp.zeros((len(obs), prices.FEATURES))
        gap = jnp.abs(self._u(critics, obs, core, features) - self._u(critics, obs, last, features))
        cost = (self.cost(core, last) * free).sum()
        worth = unit * (gap * free).sum() / jnp.maximum(cost, 1e-6)
        rate = jnp.where(state.worth > 0, RATE, 1.0) * (cost > 1e-6)
        return state.worth + rate * (worth - state.worth)

    def acting(self, state: BoxDialState) -> BoxDialParams:
        zero = jnp.float32(0)
        largest = self.config.largest * state.worth
        setting = BoxDialSetting(zero, largest, prices.features(zero), jnp.float32(1))
        return BoxDialParams(state.actor, setting)

    def at(self, params: BoxDialParams, price: Number) -> BoxDialParams:
        """Set the dial to a price; below 0 it is a share of the core, and at -largest all of it."""
        # before the first move the largest price is 0
        part = np.asarray(price, float) / max(float(params.dial.largest), np.finfo(np.float32).tiny)
        share = np.clip(1 + part, 0, 1).astype(np.float32)
        features = prices.features(np.clip(part, 0, 1), np)
        own = np.asarray(price, np.float32)
        setting = params.dial._replace(price=own, features=features, share=share)
        return params._replace(dial=setting)

    def apply(
        self, params: BoxDialParams, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        dial, wanted = params.dial, core.policy.mode()
        rows = xp.zeros((len(obs), 1), np.float32)
        action, mu, _ = self._moved(
            params.actor, obs, prev_action, wanted, dial.features + rows, xp
        )
        share = xp.asarray(dial.share)[..., None] + rows
        action = xp.where(share == 1, action, wanted + share * (action - wanted))
        return Acting(Point(action.astype(wanted.dtype)), core.policy, share * mu, core.scores)

    def hold_probability(
        self, params: BoxDialParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        """The mean of mu where an agent wants `action`."""
        rows = np.zeros((len(obs), 1), np.float32)
        features = np.asarray(params.dial.features + rows)
        _, mu, _ = self._moved(params.actor, obs, prev_action, action, features, np)
        return np.asarray(mu).mean(-1)

    def draw(self, step: int, rng: np.random.Generator) -> float:
        return rng.random()

    def explore(
        self,
        params: BoxDialParams,
        obs: np.ndarray,
        prev: np.ndarray,
        core: Acting,
        drawn: np.ndarray,
    ) -> Either:
        """In a share of the episodes the core alone, else the controller at the episode's price.

        A number below `core_share` means the core; the rest of the range gives the price.
        """
        config, alone, wanted = self.config, core.policy, core.policy.mode()
        rest = (drawn - config.core_share) / max(1 - config.core_share, 1e-9)
        features = prices.features(prices.draw(np.maximum(rest, 0), np), np)
        action, _, _ = self._moved(params.actor, obs, prev, wanted, features, np)
        if config.core.traits.deterministic:
            alone = NoisyPoint(wanted, config.noise)
        return Either(drawn < config.core_share, alone, NoisyPoint(action, config.noise))
