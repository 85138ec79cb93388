"""TD3 (Fujimoto et al., 2018): a deterministic actor for Box actions, twin critics, a delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import lax
from jax import numpy as jnp

from policy_inertia.actions.box import Point
from policy_inertia.actions.gaussian import NoisyPoint
from policy_inertia.algorithms import box_losses, interface
from policy_inertia.algorithms.box_learning import (
    evaluation,
    first_key,
    lower_value,
    noises,
    value,
)
from policy_inertia.algorithms.learning import Critics, adam, descend, init_critics
from policy_inertia.algorithms.losses import bellman_target
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree


@dataclass(frozen=True)
class TD3Config(interface.AlgorithmConfig):
    """Settings of TD3; the defaults are the paper's."""

    learning_rate: float = 1e-3
    """Adam's learning rate of actor and critics."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer."""
    train_interval: int = 1
    """Transitions collected for each update."""
    target_rate: float = 0.005
    """Share of the networks that moves into their targets."""
    delay: int = 2
    """Updates of the critics for each update of the actor and of the targets."""
    exploration_noise: float = 0.1
    """Standard deviation of the noise while learning, in halves of the range."""
    target_noise: float = 0.2
    """Standard deviation of the noise on the target's actions."""
    target_noise_clip: float = 0.5
    """The noise on the target's actions is clipped to this size."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "exploration_noise")
        refuse_outside(self, 0, None, "target_noise", "target_noise_clip")
        refuse_outside(self, 1, None, "hidden", "train_interval", "delay")
        refuse_outside(self, 0, 1, "target_rate")

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", actions="box", deterministic=True)

    def build(self, spec: Spec) -> interface.Algorithm:
        return td3(self, spec)


class TD3State(NamedTuple):
    actor: Tree
    actor_target: Tree
    critics: Critics
    actor_optimiser: Tree
    updates: Array
    key: Array  # of the noise in updates


def td3(config: TD3Config, spec: Spec) -> interface.Algorithm:
    """TD3, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    (d,) = spec.actions.shape
    policy, critic = Network(spec, config.hidden, d), Network(spec, config.hidden, 1, extra=d)

    def act(actor: Tree, obs: Array, xp: Any = jnp) -> Array:
        return xp.tanh(policy(actor, obs, xp=xp))

    def init(rng: np.random.Generator) -> TD3State:
        actor, critics = policy.init(rng), init_critics(rng, critic, optimiser)
        # copies: a donated state must not hold one buffer twice
        copied = jax.tree.map(jnp.copy, actor)
        return TD3State(actor, copied, critics, optimiser.init(actor), jnp.int32(0), first_key(rng))

    def improve(state: TD3State, obs: Array) -> tuple[TD3State, Array]:
        """One step of the actor and of all targets."""

        def loss(actor: Tree) -> tuple[Array, None]:
            q = value(critic, state.critics.online, obs, act(actor, obs))
            return box_losses.deterministic_actor_loss(q), None

        actor, actor_optimiser, size, _ = descend(
            optimiser, loss, state.actor, state.actor_optimiser
        )
        target = optax.incremental_update(actor, state.actor_target, config.target_rate)
        averaged = optax.incremental_update(
            state.critics.online, state.critics.target, config.target_rate
        )
        state = state._replace(
            actor=actor,
            actor_target=target,
            actor_optimiser=actor_optimiser,
            critics=state.critics._replace(target=averaged),
        )
        return state, size

    def update(state: TD3State, batch: Transition, due: Array) -> interface.Updated:
        del due  # one part: whenever this is called, it is due
        key, (noise,) = noises(state.key, 1, batch.action.shape)
        action = box_losses.smoothed_action(
            act(state.actor_target, batch.next_obs),
            noise,
            config.target_noise,
            config.target_noise_clip,
        )
        q_next = lower_value(critic, state.critics.target, batch.next_obs, action)
        target = bellman_target(batch.reward, batch.discount, q_next)
        critics, critic_loss, _ = evaluation(
            state.critics, critic, optimiser, batch, target, rate=0.0
        )
        updates = state.updates + 1
        state = state._replace(critics=critics, updates=updates, key=key)
        state, actor_loss = lax.cond(
            updates % config.delay == 0,
            lambda state: improve(state, batch.obs),
            lambda state: (state, jnp.float32(jnp.nan)),
            state,
        )
        return interface.Updated(state, {"critic_loss": critic_loss, "actor_loss": actor_loss})

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        return interface.plain_box(Point(act(params, obs, xp)), len(obs))

    def explore(
        params: Tree, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
    ) -> NoisyPoint:
        return NoisyPoint(act(params, obs, np), config.exploration_noise)

    return interface.Algorithm(
        init,
        update,
        lambda state: state.actor,
        apply,
        (config.train_interval,),
        interface.Behaviour(explore, spec.actions, epsilon=interface.random_before_learning),
    )
