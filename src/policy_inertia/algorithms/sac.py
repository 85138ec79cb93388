"""Discrete soft actor-critic with twin critics (the paper's Supplementary B, inner half)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.actions.discrete import Categorical
from policy_inertia.algorithms import interface, losses
from policy_inertia.algorithms.learning import (
    Critics,
    adam,
    average_rate,
    descend,
    init_critics,
    joined,
    soft_evaluation,
    tempered,
    updates_in,
)
from policy_inertia.algorithms.value_scale import divisor, known_size, rescaled
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
    entropy_in_target: bool = True
    """Count the entropy of later steps in the values, as in the paper. It is a reward for every
    step, so a policy may put off the end of an episode for it: a lander hovers. False: only the
    policy's loss has the entropy."""
    pessimistic: bool = True
    """The lower value of the twin critics counts, as in the paper; False: their mean. The lower one
    is bad wherever little was seen, so what is new is avoided."""
    scaled: bool = False
    """Learn Q in a unit that follows the task, so that the size of the rewards does not matter;
    `huber` and the temperature are in that unit then. False: as in the paper."""
    exploration: float | None = None
    """The share of the run's steps over which epsilon, the share of random actions, falls from 1.
    It counts unless an epsilon_decay is given. None: there are no random actions, as in the
    paper: the policy is random enough itself."""
    epsilon_decay: float | None = None
    """Decrease of epsilon at each update, from 1; `exploration` sets it."""
    epsilon_final: float = 0.0
    """Where epsilon stays."""
    longest_hold: int = 1
    """Random actions are held for 1 to so many steps, long holds being rare."""
    averaged: float | None = None
    """The policy is a moving average of the actor's weights over this share of the run's steps.
    Training acts by the actor itself. None: the policy is the last actor."""
    average_rate: float = 1.0
    """The share of the actor that moves into that average at each update; `averaged` sets it."""
    at_once: bool = False
    """Compute every loss from the parameters before this update, as many implementations do,
    instead of one after the other, as the paper does; faster for large networks."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "temperature")
        refuse_outside(self, 1, None, "hidden", "train_interval", "longest_hold")
        refuse_outside(self, 0, 1, "target_rate", "target_entropy_ratio")
        refuse_outside(self, 0, 1, "epsilon_final", "average_rate")
        for name, most in (("exploration", 1), ("averaged", 1), ("epsilon_decay", None)):
            if getattr(self, name) is not None:
                refuse_outside(self, 0, most, name)
        refuse_huber(self.huber)

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="log_probabilities")

    def for_steps(self, steps: int) -> SACConfig:
        config, updates = self, steps / self.train_interval
        if self.averaged is not None:
            rate = average_rate(self.averaged, updates)
            config = replace(config, average_rate=rate, averaged=None)
        if self.exploration is None or self.epsilon_decay is not None:
            return config
        decay = (1 - self.epsilon_final) / updates_in(self.exploration, updates)
        return replace(config, epsilon_decay=decay, exploration=None)

    def build(self, spec: Spec) -> interface.Algorithm:
        return sac(self, spec)


class SACState(NamedTuple):
    actor: Tree
    critics: Critics
    actor_optimiser: Tree
    log_alpha: Array
    alpha_optimiser: Tree
    size: Array | None  # the unit of the critics' values; None: 1
    average: Tree | None  # of the actors so far; None: the policy is the actor


def sac(config: SACConfig, spec: Spec) -> interface.Algorithm:
    """Discrete SAC, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    target_entropy = config.target_entropy_ratio * math.log(spec.actions.width)
    network = Network(spec, config.hidden, spec.actions.width)

    def init(rng: np.random.Generator) -> SACState:
        actor, critics = network.init(rng), init_critics(rng, network, optimiser)
        log_alpha = jnp.log(jnp.float32(config.temperature))
        states = optimiser.init(actor), log_alpha, optimiser.init(log_alpha)
        size = jnp.float32(0) if config.scaled else None
        average = jax.tree.map(jnp.copy, actor) if config.average_rate < 1 else None
        return SACState(actor, critics, *states, size, average)

    def update(state: SACState, batch: Transition, due: Array) -> interface.Updated:
        del due  # one part: whenever this is called, it is due
        size = state.size
        if size is not None:
            size = known_size(size, batch.reward)
            batch = batch._replace(reward=batch.reward / divisor(size))
        alpha = jnp.exp(state.log_alpha) if config.auto_temperature else config.temperature
        log_pi_next = log_softmax(network(state.actor, batch.next_obs))
        q_next = joined(network(state.critics.target, batch.next_obs), config.pessimistic)
        bonus = alpha if config.entropy_in_target else 0.0
        next_value = losses.soft_value(log_pi_next, q_next, bonus)
        critics, q, critic_loss = soft_evaluation(
            state.critics,
            network,
            optimiser,
            batch,
            None,
            next_value,
            config.target_rate,
            config.huber,
            config.at_once,
            pessimistic=config.pessimistic,
        )
        if size is not None:
            target = losses.bellman_target(batch.reward, batch.discount, next_value)
            critics, size = rescaled(critics, size, target)

        def actor_loss(actor: Tree) -> tuple[Array, Array]:
            log_pi = log_softmax(network(actor, batch.obs))
            return losses.soft_policy_loss(log_pi, q, alpha), log_pi

        actor, actor_optimiser, loss, log_pi = descend(
            optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        outputs = interface.CoreOutputs(Categorical(log_pi), Categorical(log_pi_next))
        average = state.average
        if average is not None:
            average = optax.incremental_update(actor, average, config.average_rate)
        state = SACState(actor, critics, actor_optimiser, *state[3:5], size, average)
        report = {"critic_loss": critic_loss, "actor_loss": loss}
        if config.auto_temperature:
            if not config.at_once:
                log_pi = log_softmax(network(actor, batch.obs))
            state, report["ent_coef_loss"] = tempered(
                optimiser,
                state,
                lambda x: losses.temperature_loss(x, log_pi, target_entropy),
            )
            report["ent_coef"] = jnp.exp(state.log_alpha)
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
        _behaviour(config, interface.sampling(apply, spec.actions)),
        policy=(lambda state: state.average) if config.average_rate < 1 else None,
    )


def _behaviour(config: SACConfig, sampling: interface.Behaviour) -> interface.Behaviour:
    """Sample, with random actions if there is an epsilon."""
    decay, final = config.epsilon_decay, config.epsilon_final
    behaviour = replace(sampling, longest_hold=config.longest_hold)
    if decay is None:
        return behaviour

    def epsilon(updates: int) -> float:
        return max(final, 1.0 - decay * updates)

    return replace(behaviour, epsilon=epsilon)
