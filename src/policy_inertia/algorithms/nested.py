"""Nested policy iteration: a policy inertia controller around any core (Algorithm 2, outer half).

`nested(sac)` is the paper's NSAC, `nested(dqn)` our NDQN. The core learns by its own update, as if
alone; the outer half learns `mu(s, a_prev)` and twin `Q(s, a_prev, .)` of the mixed policy. With a
`DialConfig` switching has a price, and the outer half learns for all prices at once: the dial.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.interface import (
    Acting,
    Algorithm,
    Critics,
    Said,
    Updated,
    adam,
    descend,
    init_critics,
    soft_evaluation,
)
from policy_inertia.errors import InputError, refuse_huber, refuse_outside
from policy_inertia.networks.perceptron import Network, one_hot
from policy_inertia.types import Array, Spec, Transition, Tree

CoreConfig = TypeVar("CoreConfig")


@dataclass(frozen=True)
class NestedConfig(Generic[CoreConfig]):
    """Settings of the policy inertia controller; the defaults are the paper's for Highway."""

    core: CoreConfig
    """Settings of the core, which learns as it would alone."""
    mu0: float = 0.0
    """Lower bound of the inertia mu, in [0, 1)."""
    temperature: float = 0.01
    """Weight of the mixed policy's entropy (alpha)."""
    pic_learning_rate: float = 3e-4
    """Adam's learning rate for the inertia controller."""
    learning_rate: float = 3e-4
    """Adam's learning rate for the critics of the mixed policy."""
    target_rate: float = 0.002
    """Share of those critics that moves into their targets at each update (sigma)."""
    train_interval: int = 2
    """Transitions collected for each update of the outer half (m)."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer of the controller and of its critics."""
    huber: float | None = None
    """The size of an error of Q from which its loss grows linearly, not as its square; None: never,
    as in the paper's equations. The smaller, the calmer, and the less a rare disaster counts."""
    at_once: bool = False
    """Compute the outer half's losses with the core and the critics as they were before the update,
    and not with what has just been improved, as the paper: cheaper where the networks are large."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "pic_learning_rate", "temperature")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate")
        refuse_huber(self.huber)
        if not 0 <= self.mu0 < 1:
            raise InputError(
                f"mu0 is {self.mu0}: the lower bound of the inertia must lie in [0, 1), since "
                "at 1 the policy would never act on its own; try 0.1"
            )


@dataclass(frozen=True)
class DialConfig(NestedConfig[CoreConfig]):
    """Settings of a controller for which switching has a price, lambda.

    It is only as good as its critics, so they learn faster and more often than the paper's.
    """

    learning_rate: float = 1e-3
    """Adam's learning rate for the critics of the mixed policy."""
    target_rate: float = 0.01
    """Share of those critics that moves into their targets at each update (sigma)."""
    huber: float | None = 5.0
    """The size of an error of Q from which its loss grows linearly; None: never."""
    train_interval: int = 1
    """Transitions collected for each update of the outer half (m)."""
    act: Literal["gate", "full", "mu"] = "full"
    """What is learned: full, the best action in Q (calibration may still choose to act as a gate);
    gate, to repeat if Q says that it is worth as much as the core's action, else the core's action;
    mu, the paper's mixture, by a network of its own."""
    price: float | None = None
    """One fixed price of a switch; None learns all prices from 0 to the largest in one run."""
    largest: float = 10.0
    """The largest price, in units of the largest reward (of a step, in size) seen in training."""
    refund: float | None = None
    """Switches per step that are free (x0): each step earns the price times this back. None: 0.1
    times the median reward over the largest, from 0 to 1, so that staying alive remains worth
    while where it is the task, and nobody is paid for waiting where arriving is."""
    core_share: float = 0.2
    """Share of the training episodes in which the core acts alone, with its own exploration."""
    noise: float = 0.1
    """In the other episodes, the share of steps that are left to the core's exploration."""
    warmup: int = 0
    """Transitions for which the core is only watched: it acts (but for a `noise` of repeated
    actions), and the critics learn what following it is worth. Over as many again the controller
    takes over. For a core that is good already, so that an ignorant controller does no harm."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 0, None, "largest", "warmup")
        refuse_outside(self, 0, 1, "core_share", "noise")
        if self.price is not None:
            refuse_outside(self, 0, None, "price")
        if self.refund is not None:
            refuse_outside(self, 0, 1, "refund")
        if self.act not in ("gate", "full", "mu"):
            raise InputError(f"act is {self.act!r}: choose gate, full or mu")


class NestedState(NamedTuple):
    core: Tree
    pic: Tree  # None where no network says mu
    critics: Critics
    pic_optimiser: Tree
    dial: Dial | None = None


class Dial(NamedTuple):
    """What learning with prices carries along."""

    reward: Array  # the largest seen, in size
    typical: Array  # the mean over the updates of their minibatches' median rewards
    updates: Array


class Turned(NamedTuple):
    """What a dial is set to: one price for all rows, or one for each."""

    price: Array
    largest: Array
    relative: Array  # the price in the unit of the values at this price
    seen: Array  # what networks see of it
    begins: Array  # whether a gate's critics choose an episode's first action (1) or its core (0)


class NestedActing(NamedTuple):
    core: Tree
    pic: Tree
    critics: Tree = None  # twins: the lower value counts, as in learning
    dial: Turned | None = None


def nested(core: Algorithm, config: NestedConfig[Any], spec: Spec) -> Algorithm:
    """Wrap `core` into the mixed policy of Equation (mixed_policy) and learn `mu` with it."""
    n_actions = spec.n_actions
    dial = config if isinstance(config, DialConfig) else None
    act = dial.act if dial else "mu"
    fixed = dial.price or 0.0 if dial else 0.0
    priced = dial is not None and dial.price is None  # for all prices at once
    extra = n_actions + (prices.FEATURES if priced else 0)  # a_prev's one-hot, and a price
    inertia, value = (Network(spec, config.hidden, n, extra) for n in (1, n_actions))
    warmup = dial.warmup if dial else 0
    optimiser = adam(config.learning_rate)
    pic_optimiser = adam(config.pic_learning_rate)
    intervals = (*core.intervals, config.train_interval)

    def init(rng: np.random.Generator) -> NestedState:
        core_state = core.init(rng)  # first: the very core that the same generator gives alone
        pic = inertia.init(rng, zero_bias=True) if act == "mu" else None
        critics = init_critics(rng, value, optimiser)
        pic_state = None if pic is None else pic_optimiser.init(pic)
        zero = jnp.float32(0)
        counters = Dial(zero, jnp.copy(zero), jnp.uint32(0)) if priced or fixed else None
        return NestedState(core_state, pic, critics, pic_state, counters)

    def pre_activation(pic: Tree, obs: Array, seen: Array, xp: Any = jnp) -> Array:
        return inertia(pic, obs, seen, xp)[..., 0]

    def sampled(state: Dial | None, batch: Transition) -> tuple[Array, Any, Any, Any, Any]:
        """A price for each transition, the share of it that each step earns back, the unit in which
        its values are learned, what networks see of it, and the dial's new state.

        At price lambda the unit is 1 + lambda / largest reward: no price's values dwarf another's.
        """
        if dial is None or state is None:
            return 0.0, 0.0, 1.0, None, None
        updates = state.updates + 1
        reward = jnp.maximum(state.reward, jnp.abs(batch.reward).max())
        typical = state.typical + (jnp.median(batch.reward) - state.typical) / updates
        refund = prices.REFUND * prices.earning(typical, reward)
        refund = refund if dial.refund is None else dial.refund
        state, count = Dial(reward, typical, updates), state.updates
        if not priced:
            return fixed, refund, 1.0, None, state
        x = prices.draw(prices.spread(count, len(batch.action)))
        unit = 1 + dial.largest * x
        return (unit - 1) * reward, refund, unit, prices.features(x), state

    def choose(
        q: Array, log_core: Array, prev_action: Array, begins: Array | float = 0.0, xp: Any = jnp
    ) -> tuple[Any, Any]:
        """mu and the action of the two ways to act that ask the critics alone."""
        if act == "full":
            best = q.argmax(-1)
            return (best == prev_action).astype(np.float32), best
        mu, action = losses.gate(q, log_core, prev_action, xp)
        if xp is np and (not begins or prev_action.min() >= 0):  # microseconds count there
            return mu, action
        return mu, xp.where((prev_action < 0) & (begins > 0), q.argmax(-1), action)

    def update_outer(
        state: NestedState, batch: Transition, core_state: Tree, said: Said | None
    ) -> tuple[NestedState, dict[str, Array]]:
        price, refund, unit, seen, dial_state = sampled(state.dial, batch)

        def log_core(obs: Array, prev_action: Array) -> Array:
            return core.apply(core.acting(core_state), obs, prev_action).log_pi

        log_core_next = said.log_pi_next if said else log_core(batch.next_obs, batch.action)
        now, then = (one_hot(a, n_actions) for a in (batch.prev_action, batch.action))
        if seen is not None:
            now, then = (jnp.concatenate([last, seen], -1) for last in (now, then))

        u_next = value(state.critics.target, batch.next_obs, then).min(0)
        if act == "mu":
            log_core_now = said.log_pi if said else log_core(batch.obs, batch.prev_action)
            log_pi_next = losses.log_mixture(
                pre_activation(state.pic, batch.next_obs, then),
                log_core_next,
                batch.action,
                config.mu0,
            )
            cost = prices.charge(price, batch.prev_action, batch.action, refund)
        else:
            # the critics are U: this decision's price is known and no part of them, the next one's
            # is still to be paid
            last = one_hot(batch.action, n_actions)
            q_next = prices.net(u_next, jnp.asarray(price / unit)[..., None], last)
            action_next = choose(q_next, log_core_next, batch.action)[1]
            if warmup and state.dial is not None:  # evaluate the core before improving on it
                watching = state.dial.updates < warmup // config.train_interval
                action_next = jnp.where(watching, log_core_next.argmax(-1), action_next)
            log_pi_next = losses.log_certain(action_next, n_actions)
            cost = batch.discount * prices.charge(price, batch.action, action_next, refund)
        if dial is not None:
            batch = batch._replace(reward=(batch.reward - cost) / unit)
        critics, q, critic_loss = soft_evaluation(
            state.critics,
            value,
            optimiser,
            batch,
            now,
            losses.soft_value(log_pi_next, u_next, config.temperature if act == "mu" else 0.0),
            config.target_rate,
            config.huber,
            config.at_once,
        )
        report = {"mixed_critic_loss": critic_loss}
        state = state._replace(critics=critics, dial=dial_state)
        if act != "mu":
            return state, report

        def pic_loss(pic: Tree) -> tuple[Array, None]:
            log_pi = losses.log_mixture(
                pre_activation(pic, batch.obs, now), log_core_now, batch.prev_action, config.mu0
            )
            return losses.soft_policy_loss(log_pi, q, config.temperature), None

        pic, pic_state, loss, _ = descend(pic_optimiser, pic_loss, state.pic, state.pic_optimiser)
        return state._replace(pic=pic, pic_optimiser=pic_state), report | {"pic_loss": loss}

    def update(state: NestedState, batch: Transition, due: Array) -> Updated:
        before = state.core

        def inner(state: NestedState) -> tuple[NestedState, dict[str, Array], Said | None]:
            core_state, report, said = core.update(state.core, batch, due[:-1])
            return state._replace(core=core_state), report, said

        def outer(
            state: NestedState, said: Said | None = None
        ) -> tuple[NestedState, dict[str, Array]]:
            if config.at_once:
                return update_outer(state, batch, before, said)
            return update_outer(state, batch, state.core, None)

        together = len(set(intervals)) == 1
        if together and spec.image is None:  # no branch in the compiled loop
            state, report, said = inner(state)
            state, report_outer = outer(state, said)
        else:  # a half lets go of its large arrays before the other begins
            state, report, said = _when(due[:-1].any(), inner, state)
            half = functools.partial(outer, said=said if together else None)
            state, report_outer = _when(due[-1], half, state)
        return state, report | report_outer, None

    def acting(state: NestedState) -> NestedActing:
        params = NestedActing(core.acting(state.core), state.pic)
        if act != "mu":  # targets: averages over many updates, which jitter less
            params = params._replace(critics=state.critics.target)
        if dial is not None and state.dial is not None and priced:
            zero = jnp.float32(0)
            largest = dial.largest * state.dial.reward
            turned = Turned(zero, largest, zero, prices.features(zero), zero)
            params = params._replace(dial=turned)
        return params

    def at(params: NestedActing, price: Array) -> NestedActing:
        assert dial is not None
        assert params.dial is not None
        largest = params.dial.largest
        # before the first reward the largest price is 0; what is beyond it was not learned
        x = np.asarray(price / max(largest, np.finfo(np.float32).tiny), np.float32)
        x = np.minimum(x, np.float32(1))
        relative = np.asarray(price, np.float32) / (1 + np.float32(dial.largest) * x)
        seen, begins = prices.features(x, np), params.dial.begins
        turned = Turned(np.float32(price), largest, relative, seen, begins)
        return params._replace(dial=turned)

    def apply(params: NestedActing, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting:
        log_core = core.apply(params.core, obs, prev_action, xp).log_pi
        last = one_hot(prev_action, n_actions, xp)
        seen: Any = last
        if params.dial is not None:
            seen = (last, params.dial.seen + xp.zeros((len(obs), 1), np.float32))  # a row for each
        if act != "mu":
            price = params.dial.relative[..., None] if params.dial else fixed
            u = value(params.critics, obs, seen, xp).min(0)
            q = prices.net(u, price, last)
            begins = params.dial.begins if params.dial else 0.0
            mu, action = choose(q, log_core, prev_action, begins, xp)
            return Acting(losses.log_certain(action, n_actions, xp), log_core, mu, q)
        pre = pre_activation(params.pic, obs, seen, xp)
        log_pi = losses.log_mixture(pre, log_core, prev_action, config.mu0, xp)
        mu = losses.inertia(pre, config.mu0, xp) * (prev_action >= 0)
        return Acting(log_pi, log_core, mu, log_pi)

    def behave(
        params: NestedActing, obs: np.ndarray, prev_action: np.ndarray, u: np.ndarray
    ) -> np.ndarray:
        """Training's log-policy, where a number `u` in [0, 1) was drawn for each episode: the core
        alone in a share of the episodes, else the dial at a price, with noise from the core."""
        assert dial is not None
        if params.dial is not None:
            rest = (u - dial.core_share) / max(1 - dial.core_share, 1e-9)
            params = at(params, prices.draw(np.maximum(rest, 0), np) * params.dial.largest)
        found = apply(params, obs, prev_action, np)
        core_pi = np.exp(found.log_pi_core)
        if act == "mu":  # a sampled policy, as the paper's: it explores by itself
            log_pi = found.log_pi
        else:
            chance = np.where(u < dial.core_share, 1.0, dial.noise)[:, None]
            log_pi = _log((1 - chance) * np.exp(found.log_pi) + chance * core_pi)
        watched = u[:, None] < 0
        if not watched.any():
            return log_pi
        # the core alone but for repetitions: without them there would be nothing to compare it with
        last = one_hot(prev_action, n_actions, np)
        repeat = dial.noise * last.sum(1, keepdims=True)
        return np.where(watched, _log((1 - repeat) * core_pi + repeat * last), log_pi)

    def opening(step: int) -> float:
        """None of the episodes during the warm-up, all of them after as long again."""
        return min(max(step / warmup - 1, 0.0), 1.0)

    alike = act == "mu" and not priced and not warmup  # every episode as the one before: NSAC
    return Algorithm(
        init,
        update,
        acting,
        apply,
        core.exploration,
        intervals,
        None if alike else behave,
        at if priced else None,
        opening if warmup else None,
    )


def _log(pi: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(pi, np.finfo(np.float32).tiny))


def _when(due: Array, part: Callable[[NestedState], Any], state: NestedState) -> Any:
    """Run one half if it is due; what it returns beside the state reads NaN where it was not."""
    rest = jax.eval_shape(part, state)[1:]

    def skip(state: NestedState) -> tuple[Any, ...]:
        return state, *jax.tree.map(lambda s: jnp.full(s.shape, jnp.nan, s.dtype), rest)

    return lax.cond(due, part, skip, state)
