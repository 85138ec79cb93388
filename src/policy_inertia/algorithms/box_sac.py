"""Soft actor-critic on Box actions: a squashed Gaussian, twin critics, a learned temperature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.gaussian import SquashedGaussian
from policy_inertia.algorithms import box_losses, interface
from policy_inertia.algorithms.box_learning import evaluation, first_key, lower_value, noises
from policy_inertia.algorithms.learning import Critics, adam, descend, init_critics, tempered
from policy_inertia.algorithms.losses import bellman_target
from policy_inertia.algorithms.regulariser import CAPS, Regulariser
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_outside
from policy_inertia.networks.perceptron import Network, first_outputs
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

    def regulariser(self) -> Regulariser:
        """What is added to the actor's loss."""
        if not self.caps_temporal and not self.caps_spatial:
            return Regulariser()
        return CAPS(self.caps_temporal, self.caps_spatial, self.caps_noise)

    def build(self, spec: Spec) -> interface.Algorithm:
        return box_sac(self, spec, self.regulariser())


class BoxSACState(NamedTuple):
    actor: Tree
    critics: Critics
    actor_optimiser: Tree
    log_alpha: Array
    alpha_optimiser: Tree
    key: Array  # of the noise in updates
    regulariser: Tree = ()


class _Actor(NamedTuple):
    """The actor: a network whose first outputs are means and log-deviations of d numbers."""

    network: Network
    d: int

    def outputs(self, params: Tree, obs: Array, xp: Any = jnp) -> SquashedGaussian:
        x, d = self.network(params, obs, xp=xp), self.d
        return SquashedGaussian(x[..., :d], box_losses.bounded_log_std(x[..., d : 2 * d], xp))

    def sampled(
        self, params: Tree, obs: Array, noise: Array
    ) -> tuple[Array, Array, SquashedGaussian]:
        """Actions, (B, d), the logarithm of their density, (B,), and what they are drawn from."""
        outputs = self.outputs(params, obs)
        action, log_pi = box_losses.squashed_sample(*outputs, noise)
        return action, log_pi.sum(-1), outputs


def box_sac(config: BoxSACConfig, spec: Spec, smooth: Regulariser) -> interface.Algorithm:
    """SAC on Box actions, alone or as the core of a nested algorithm."""
    optimiser = adam(config.learning_rate)
    (d,) = spec.actions.shape
    policy = _Actor(Network(spec, config.hidden, (2 + smooth.heads) * d), d)
    critic = Network(spec, config.hidden, 1, extra=d)
    target_entropy = config.target_entropy * d

    def init(rng: np.random.Generator) -> BoxSACState:
        actor, critics = policy.network.init(rng), init_critics(rng, critic, optimiser)
        log_alpha = jnp.log(jnp.float32(config.temperature))
        return BoxSACState(
            actor,
            critics,
            optimiser.init(actor),
            log_alpha,
            optimiser.init(log_alpha),
            first_key(rng),
            smooth.init(actor),
        )

    def update(state: BoxSACState, batch: Transition, due: Array) -> interface.Updated:  # all due
        key, noise = noises(state.key, 2, batch.action.shape)
        alpha: Number = temperature(state) if config.auto_temperature else config.temperature
        action, log_pi, next_outputs = policy.sampled(state.actor, batch.next_obs, noise[0])
        q_next = lower_value(critic, state.critics.target, batch.next_obs, action)
        target = bellman_target(
            batch.reward, batch.discount, box_losses.soft_value(q_next, log_pi, alpha)
        )
        critics, critic_loss, _ = evaluation(
            state.critics, critic, optimiser, batch, target, config.target_rate
        )
        key, drawn = smooth.draw(key, batch)

        def actor_loss(actor: Tree) -> tuple[Array, tuple[Array, SquashedGaussian]]:
            action, log_pi, outputs = policy.sampled(actor, batch.obs, noise[1])
            q = lower_value(critic, critics.online, batch.obs, action)
            added = smooth.loss(state.regulariser, policy.network, actor, batch, drawn)
            return box_losses.soft_actor_loss(q, log_pi, alpha) + added, (log_pi, outputs)

        actor, actor_optimiser, loss, (log_pi, outputs) = descend(
            optimiser, actor_loss, state.actor, state.actor_optimiser
        )
        before = interface.CoreOutputs(outputs, next_outputs, temperature(state))
        report = {"critic_loss": critic_loss, "actor_loss": loss}
        state = state._replace(
            actor=actor,
            critics=critics,
            actor_optimiser=actor_optimiser,
            key=key,
            regulariser=smooth.follow(state.regulariser, actor),
        )
        if config.auto_temperature:
            state, report["ent_coef_loss"] = tempered(
                optimiser,
                state,
                lambda x: box_losses.temperature_loss(x, log_pi, target_entropy),
            )
            report["ent_coef"] = jnp.exp(state.log_alpha)
        return interface.Updated(state, report, before)

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        return interface.plain_box(policy.outputs(params, obs, xp), len(obs))

    def acting(state: BoxSACState) -> Tree:
        return first_outputs(state.actor, 2 * d) if smooth.heads else state.actor

    def temperature(state: BoxSACState) -> Array:
        return jnp.exp(state.log_alpha)  # its first value if it is not learned

    return interface.Soft(
        init,
        update,
        acting,
        apply,
        (config.train_interval,),
        replace(interface.sampling(apply, spec.actions), epsilon=interface.random_before_learning),
        temperature,
    )
