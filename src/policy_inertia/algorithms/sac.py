"""Discrete soft actor-critic with twin critics (the paper's Supplementary B, inner half)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.discrete import Categorical
from policy_inertia.algorithms import interface, losses
from policy_inertia.algorithms.learning import (
    Critics,
    adam,
    descend,
    init_critics,
    soft_evaluation,
)
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_huber, refuse_outside
from policy_inertia.networks.perceptron import Network, log_softmax
from policy_inertia.types import Array, Transition, Tree


@dataclass(frozen=True)
class SACConfig(interface.AlgorithmConfig):
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
    """Weight of the entropy (alpha_core); its first value if it is learned."""
    auto_temperature: bool = False
    """Learn the temperature so that the entropy stays at the target."""
    target_entropy_ratio: float = 0.5
    """The target entropy as a share of the largest, log |A|; only for auto_temperature."""
    huber: float | None = None
    """The loss of an error of Q above this size grows linearly, not as its square; None: never, as
    in the paper. Smaller is more stable but gives rare crashes less weight."""
    at_once: bool = False
    """Compute every loss from the parameters before this update, as many implementations do,
    instead of one after the other, as the paper does; faster for large networks."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "temperature")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate", "target_entropy_ratio")
        refuse_huber(self.huber)

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="log_probabilities")

    def build(self, spec: Spec) -> interface.Algorithm:
        return sac(self, spec)


class SACState(NamedTuple):
    actor: Tree
    critics: Critics
    actor_optimiser: Tree
    log_alpha: Array
    alpha_optimiser: Tree


def sac(config: SACConfig, spec: Spec) -> interface.Algorithm:
    """Discrete SAC, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    target_entropy = config.target_entropy_ratio * math.log(spec.actions.width)
    network = Network(spec, config.hidden, spec.actions.width)

    def init(rng: np.random.Generator) -> SACState:
        actor, critics = network.init(rng), init_critics(rng, network, optimiser)
        log_alpha = jnp.log(jnp.float32(config.temperature))
        return SACState(actor, critics, optimiser.init(actor), log_alpha, optimiser.init(log_alpha))

    def update(state: SACState, batch: Transition, due: Array) -> interface.Updated:
        del due  # one part: whenever this is called, it is due
        alpha = jnp.exp(state.log_alpha) if config.auto_temperature else config.temperature
        log_pi_next = log_softmax(network(state.actor, batch.next_obs))
        q_next = network(state.critics.target, batch.next_obs).min(0)
        critics, q, critic_loss = soft_evaluation(
            state.critics,
            network,
            optimiser,
            batch,
            None,
            losses.soft_value(log_pi_next, q_next, alpha),
            config.target_rate,
            config.huber,
            config.at_once,
        )

        def actor_loss(actor: Tree) -> tuple[Array, Array]:
            log_pi = log_softmax(network(actor, batch.obs))
            return losses.soft_policy_loss(log_pi, q, alpha), log_pi

        actor, actor_optimiser, loss, log_pi = descend(
            optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        outputs = interface.CoreOutputs(Categorical(log_pi), Categorical(log_pi_next))
        state = state._replace(actor=actor, critics=critics, actor_optimiser=actor_optimiser)
        report = {"critic_loss": critic_loss, "actor_loss": loss}
        if config.auto_temperature:
            if not config.at_once:
                log_pi = log_softmax(network(actor, batch.obs))
            log_alpha, alpha_optimiser, report["ent_coef_loss"], _ = descend(
                optimiser,
                lambda log_alpha: (
                    losses.temperature_loss(log_alpha, log_pi, target_entropy),
                    None,
                ),
                state.log_alpha,
                state.alpha_optimiser,
            )
            report["ent_coef"] = jnp.exp(log_alpha)
            state = state._replace(log_alpha=log_alpha, alpha_optimiser=alpha_optimiser)
        return interface.Updated(state, report, outputs)

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        log_pi = log_softmax(network(params, obs, xp=xp), xp)
        return interface.plain(Categorical(log_pi), log_pi)

    return interface.Algorithm(
        init,
        update,
        lambda state: state.actor,
        apply,
        (config.train_interval,),
        interface.sampling(apply, spec.actions),
    )
