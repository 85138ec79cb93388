"""Discrete soft actor-critic with twin critics (the paper's Supplementary B, inner half)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import numpy as jnp

from ..types import Array, Spec, Transition, Tree, refuse_outside
from . import losses
from .base import Acting, Algorithm, adam, descend, no_exploration, plain
from .networks import init_mlp, log_softmax, mlp


@dataclass(frozen=True)
class SACConfig:
    """Settings of discrete SAC; the defaults are the paper's for Highway."""

    learning_rate: float = 3e-4
    """Adam's learning rate, actor and critics."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    train_interval: int = 2
    """Transitions collected for each update (the paper's m_core)."""
    target_rate: float = 0.002
    """Share of the critics that moves into their targets at each update (sigma_core)."""
    temperature: float = 0.1
    """Weight of the entropy (alpha_core); where it starts if it is automatic."""
    auto_temperature: bool = False
    """Learn the temperature so that the entropy stays at the target."""
    target_entropy_ratio: float = 0.5
    """The target entropy as a share of the largest, log |A|; only for auto_temperature."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "temperature")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate", "target_entropy_ratio")


class SACState(NamedTuple):
    actor: Tree
    critic: Tree
    target: Tree
    actor_optimiser: Tree
    critic_optimiser: Tree
    log_alpha: Array
    alpha_optimiser: Tree


def sac(config: SACConfig, spec: Spec) -> Algorithm:
    """Discrete SAC, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    target_entropy = config.target_entropy_ratio * math.log(spec.n_actions)
    sizes = (spec.obs_dim, *config.hidden, spec.n_actions)

    def init(rng: np.random.Generator) -> SACState:
        actor, critic = init_mlp(rng, sizes), init_mlp(rng, sizes, twins=2)
        log_alpha = jnp.log(jnp.float32(config.temperature))
        return SACState(
            actor,
            critic,
            jax.tree.map(jnp.copy, critic),
            optimiser.init(actor),
            optimiser.init(critic),
            log_alpha,
            optimiser.init(log_alpha),
        )

    def update(state: SACState, batch: Transition, due: Array) -> tuple[SACState, dict[str, Array]]:
        del due  # one part: whenever this is called, it is due
        alpha = jnp.exp(state.log_alpha) if config.auto_temperature else config.temperature

        log_pi_next = log_softmax(mlp(state.actor, batch.next_obs))
        q_next = mlp(state.target, batch.next_obs).min(0)
        next_value = losses.soft_value(log_pi_next, q_next, alpha)
        y = losses.bellman_target(batch.reward, batch.discount, next_value)

        def critic_loss(critic: Tree) -> Array:
            return losses.bellman_residual(mlp(critic, batch.obs), batch.action, y)

        critic, critic_optimiser, critic_value = descend(
            optimiser, critic_loss, state.critic, state.critic_optimiser
        )
        q = mlp(critic, batch.obs).min(0)

        def actor_loss(actor: Tree) -> Array:
            return losses.soft_policy_loss(log_softmax(mlp(actor, batch.obs)), q, alpha)

        actor, actor_optimiser, actor_value = descend(
            optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        target = optax.incremental_update(critic, state.target, config.target_rate)
        report = {"critic_loss": critic_value, "actor_loss": actor_value}

        log_alpha, alpha_optimiser = state.log_alpha, state.alpha_optimiser
        if config.auto_temperature:
            log_pi = log_softmax(mlp(actor, batch.obs))
            log_alpha, alpha_optimiser, report["ent_coef_loss"] = descend(
                optimiser,
                lambda log_alpha: losses.temperature_loss(log_alpha, log_pi, target_entropy),
                log_alpha,
                alpha_optimiser,
            )
            report["ent_coef"] = jnp.exp(log_alpha)
        return (
            SACState(
                actor,
                critic,
                target,
                actor_optimiser,
                critic_optimiser,
                log_alpha,
                alpha_optimiser,
            ),
            report,
        )

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting:
        log_pi = log_softmax(mlp(params, obs, xp), xp)
        return plain(log_pi, log_pi)

    return Algorithm(
        init, update, lambda state: state.actor, apply, no_exploration, (config.train_interval,)
    )
