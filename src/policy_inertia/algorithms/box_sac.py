"""Soft actor-critic on Box actions: a squashed Gaussian, twin critics, a learned temperature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.actions.gaussian import SquashedGaussian
from policy_inertia.algorithms import box_losses, interface
from policy_inertia.algorithms.box_learning import evaluation, first_key, noises, value
from policy_inertia.algorithms.learning import Critics, adam, descend, init_critics
from policy_inertia.algorithms.losses import bellman_target
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class BoxSACConfig(interface.AlgorithmConfig):
    """Settings of SAC on Box actions; the defaults are those of Haarnoja et al. (2018b)."""

    learning_rate: float = 3e-4
    """Adam's learning rate of actor, critics and temperature."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer."""
    train_interval: int = 1
    """Transitions collected for each update."""
    target_rate: float = 0.005
    """Share of the critics that moves into their targets at each update."""
    temperature: float = 1.0
    """Weight of the entropy (alpha); its first value if it is learned."""
    auto_temperature: bool = True
    """Learn the temperature so that the entropy stays at the target."""
    target_entropy: float = -1.0
    """The target entropy of each number of an action, for actions from -1 to 1; only for
    auto_temperature. Uniform noise has 0.69."""
    caps_temporal: float = 0.0
    """Weight of the distance between the mean actions of two successive states (CAPS)."""
    caps_spatial: float = 0.0
    """Weight of the distance between the mean actions of a state and one near it (CAPS)."""
    caps_noise: float = 0.05
    """Standard deviation of the numbers of a state near it."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "temperature")
        refuse_outside(self, 0, None, "caps_temporal", "caps_spatial", "caps_noise")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate")

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", actions="box")

    def build(self, spec: Spec) -> interface.Algorithm:
        return box_sac(self, spec)


def caps(
    config: BoxSACConfig, mean: Callable[[Array], Array], batch: Transition, noise: Array
) -> Number:
    """lambda_T L_T + lambda_S L_S of CAPS for a mean action; `noise` has the shape of `obs`."""
    action = mean(batch.obs)
    near = mean(batch.obs + config.caps_noise * noise)
    temporal = box_losses.caps_distance(action, mean(batch.next_obs))
    return config.caps_temporal * temporal + config.caps_spatial * box_losses.caps_distance(
        action, near
    )


class BoxSACState(NamedTuple):
    actor: Tree
    critics: Critics
    actor_optimiser: Tree
    log_alpha: Array
    alpha_optimiser: Tree
    key: Array  # of the noise in updates


def tempered(
    optimiser: optax.GradientTransformation, state: BoxSACState, log_pi: Array, target: float
) -> tuple[BoxSACState, Array]:
    """Take one step of the temperature towards a target entropy; the new state and the loss."""
    log_alpha, alpha_optimiser, loss, _ = descend(
        optimiser,
        lambda x: (box_losses.temperature_loss(x, log_pi, target), None),
        state.log_alpha,
        state.alpha_optimiser,
    )
    return state._replace(log_alpha=log_alpha, alpha_optimiser=alpha_optimiser), loss


def box_sac(config: BoxSACConfig, spec: Spec) -> interface.Algorithm:
    """SAC on Box actions, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    (d,) = spec.actions.shape
    policy, critic = Network(spec, config.hidden, 2 * d), Network(spec, config.hidden, 1, extra=d)
    target_entropy = config.target_entropy * d

    def outputs(actor: Tree, obs: Array, xp: Any = jnp) -> SquashedGaussian:
        x = policy(actor, obs, xp=xp)
        return SquashedGaussian(x[..., :d], box_losses.bounded_log_std(x[..., d:], xp))

    def sampled(actor: Tree, obs: Array, noise: Array) -> tuple[Array, Array]:
        action, log_pi = box_losses.squashed_sample(*outputs(actor, obs), noise)
        return action, log_pi.sum(-1)

    def init(rng: np.random.Generator) -> BoxSACState:
        actor, critics = policy.init(rng), init_critics(rng, critic, optimiser)
        log_alpha = jnp.log(jnp.float32(config.temperature))
        return BoxSACState(
            actor,
            critics,
            optimiser.init(actor),
            log_alpha,
            optimiser.init(log_alpha),
            first_key(rng),
        )

    def update(state: BoxSACState, batch: Transition, due: Array) -> interface.Updated:  # all due
        key, noise = noises(state.key, 2, batch.action.shape)
        alpha: Number = config.temperature
        if config.auto_temperature:
            alpha = jnp.exp(state.log_alpha)
        action, log_pi = sampled(state.actor, batch.next_obs, noise[0])
        q_next = value(critic, state.critics.target, batch.next_obs, action).min(0)
        target = bellman_target(
            batch.reward, batch.discount, box_losses.soft_value(q_next, log_pi, alpha)
        )
        critics, critic_loss, _ = evaluation(
            state.critics, critic, optimiser, batch, target, config.target_rate
        )

        smooth = config.caps_temporal or config.caps_spatial
        if smooth:
            key, (near,) = noises(key, 1, batch.obs.shape)

        def actor_loss(actor: Tree) -> tuple[Array, Array]:
            action, log_pi = sampled(actor, batch.obs, noise[1])
            q = value(critic, critics.online, batch.obs, action).min(0)
            loss = box_losses.soft_actor_loss(q, log_pi, alpha)
            if smooth:
                loss += caps(config, lambda obs: jnp.tanh(outputs(actor, obs).mean), batch, near)
            return loss, log_pi

        actor, actor_optimiser, loss, log_pi = descend(
            optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        report = {"critic_loss": critic_loss, "actor_loss": loss}
        state = state._replace(
            actor=actor, critics=critics, actor_optimiser=actor_optimiser, key=key
        )
        if config.auto_temperature:
            state, report["ent_coef_loss"] = tempered(optimiser, state, log_pi, target_entropy)
            report["ent_coef"] = jnp.exp(state.log_alpha)
        return interface.Updated(state, report)

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        return interface.plain_box(outputs(params, obs, xp), len(obs))

    def temperature(state: BoxSACState) -> Array:
        return jnp.exp(state.log_alpha)  # its first value if it is not learned

    return interface.Soft(
        init,
        update,
        lambda state: state.actor,
        apply,
        (config.train_interval,),
        replace(interface.sampling(apply, spec.actions), epsilon=interface.random_before_learning),
        temperature,
    )
