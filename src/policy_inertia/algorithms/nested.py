"""Nested policy iteration: a policy inertia controller around any core (Algorithm 2, outer half).

`nested(sac)` is the paper's NSAC, `nested(dqn)` our NDQN. The core learns by its own update, as if
alone; the outer half learns `mu(s, a_prev)` and twin `Q(s, a_prev, .)` of the mixed policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ..types import Array, InputError, Spec, Transition, Tree, refuse_outside
from . import losses
from .base import Acting, Algorithm, Critics, adam, descend, init_critics, soft_evaluation
from .networks import init_mlp, mlp, with_action

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

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "pic_learning_rate", "temperature")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate")
        if not 0 <= self.mu0 < 1:
            raise InputError(
                f"mu0 is {self.mu0}: the lower bound of the inertia must lie in [0, 1), since "
                "at 1 the policy would never act on its own; try 0.1"
            )


class NestedState(NamedTuple):
    core: Tree
    pic: Tree
    critics: Critics
    pic_optimiser: Tree


class NestedActing(NamedTuple):
    core: Tree
    pic: Tree


def nested(core: Algorithm, config: NestedConfig[Any], spec: Spec) -> Algorithm:
    """Wrap `core` into the mixed policy of Equation (mixed_policy) and learn `mu` with it."""
    n_actions = spec.n_actions
    inputs = spec.obs_dim + n_actions
    optimiser = adam(config.learning_rate)
    pic_optimiser = adam(config.pic_learning_rate)
    intervals = (*core.intervals, config.train_interval)

    def init(rng: np.random.Generator) -> NestedState:
        core_state = core.init(rng)  # first: the very core that the same generator gives alone
        pic = init_mlp(rng, (inputs, *config.hidden, 1), zero_bias=True)
        critics = init_critics(rng, (inputs, *config.hidden, n_actions), optimiser)
        return NestedState(core_state, pic, critics, pic_optimiser.init(pic))

    def pre_activation(pic: Tree, s_a: Array, xp: Any = jnp) -> Array:
        return mlp(pic, s_a, xp)[..., 0]

    def update_outer(state: NestedState, batch: Transition) -> tuple[NestedState, dict[str, Array]]:
        def log_core(obs: Array, prev_action: Array) -> Array:
            return core.apply(core.acting(state.core), obs, prev_action).log_pi

        log_core_now = log_core(batch.obs, batch.prev_action)
        log_core_next = log_core(batch.next_obs, batch.action)
        now = with_action(batch.obs, batch.prev_action, n_actions)
        then = with_action(batch.next_obs, batch.action, n_actions)

        log_pi_next = losses.log_mixture(
            pre_activation(state.pic, then), log_core_next, batch.action, config.mu0
        )
        critics, q, critic_loss = soft_evaluation(
            state.critics,
            optimiser,
            batch,
            (now, then),
            log_pi_next,
            config.temperature,
            config.target_rate,
        )

        def pic_loss(pic: Tree) -> Array:
            log_pi = losses.log_mixture(
                pre_activation(pic, now), log_core_now, batch.prev_action, config.mu0
            )
            return losses.soft_policy_loss(log_pi, q, config.temperature)

        pic, pic_state, loss = descend(pic_optimiser, pic_loss, state.pic, state.pic_optimiser)
        state = NestedState(state.core, pic, critics, pic_state)
        return state, {"mixed_critic_loss": critic_loss, "pic_loss": loss}

    def update(
        state: NestedState, batch: Transition, due: Array
    ) -> tuple[NestedState, dict[str, Array]]:
        def inner(state: NestedState) -> tuple[NestedState, dict[str, Array]]:
            core_state, report = core.update(state.core, batch, due[:-1])
            return state._replace(core=core_state), report

        def outer(state: NestedState) -> tuple[NestedState, dict[str, Array]]:
            return update_outer(state, batch)

        if len(set(intervals)) == 1:  # always both: no branch in the compiled loop
            state, report = inner(state)
            state, report_outer = outer(state)
        else:
            state, report = _when(due[:-1].any(), inner, state)
            state, report_outer = _when(due[-1], outer, state)
        return state, report | report_outer

    def acting(state: NestedState) -> NestedActing:
        return NestedActing(core.acting(state.core), state.pic)

    def apply(params: NestedActing, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting:
        log_pi_core = core.apply(params.core, obs, prev_action, xp).log_pi
        x = pre_activation(params.pic, with_action(obs, prev_action, n_actions, xp), xp)
        log_pi = losses.log_mixture(x, log_pi_core, prev_action, config.mu0, xp)
        mu = losses.inertia(x, config.mu0, xp) * (prev_action >= 0)
        return Acting(log_pi, log_pi_core, mu, log_pi)

    return Algorithm(init, update, acting, apply, core.exploration, intervals)


def _when(due: Array, part: Any, state: NestedState) -> tuple[NestedState, dict[str, Array]]:
    """Run one half if it is due; its losses read NaN where it was not."""
    shapes = jax.eval_shape(part, state)[1]

    def skip(state: NestedState) -> tuple[NestedState, dict[str, Array]]:
        return state, jax.tree.map(lambda s: jnp.full(s.shape, jnp.nan, s.dtype), shapes)

    return lax.cond(due, part, skip, state)
