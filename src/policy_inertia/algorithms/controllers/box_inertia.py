"""The paper's inertia for Box actions: a network for mu(s, a_prev), trained with twin critics.

pi = mu delta(a_prev) + (1 - mu) pi_core, with one mu for the whole action (as in TAAC) or one for
each of its numbers (as in SDAR). The value of an action does not depend on the action before it, so
the critics see (s, a): the previous action matters only to mu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.gaussian import Mixture, NoisyPoint
from policy_inertia.algorithms import box_losses
from policy_inertia.algorithms.box_learning import (
    drawn_action,
    evaluation,
    first_key,
    lower_value,
    noises,
)
from policy_inertia.algorithms.interface import Acting, CoreOutputs, Traits
from policy_inertia.algorithms.learning import Critics, adam, descend, init_critics
from policy_inertia.algorithms.losses import bellman_target, inertia, inertia_fit
from policy_inertia.algorithms.nested import Controller, ControllerParts, NestedConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError, refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class BoxInertiaConfig(NestedConfig):
    """Settings of the policy inertia controller for Box actions."""

    per_dimension: bool = False
    """Whether each number of an action has an inertia of its own."""
    mu0: float = 0.0
    """Lower bound of the inertia mu, in [0, 1)."""
    temperature: float = 1.0
    """Weight of the gate's entropy; its first value if it is learned."""
    auto_temperature: bool = True
    """Learn that weight so that the gate's entropy stays at the target. The core has its own."""
    target_entropy: float = 0.2
    """The target of the entropy of each mu, in nats; a mu of 0.5 has 0.69, of 0.05 or 0.95 0.2."""
    pic_learning_rate: float = 3e-4
    """Adam's learning rate for mu and the weight of its entropy."""
    learning_rate: float = 3e-4
    """Adam's learning rate for the critics of the mixed policy."""
    target_rate: float = 0.005
    """Share of those critics that moves into their targets at each update."""
    train_interval: int = 1
    """Transitions collected for each update of the controller."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer of mu and of its critics."""
    exploration_noise: float = 0.1
    """Standard deviation of the noise on the actions of a deterministic core while it learns, in
    halves of the range."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "pic_learning_rate", "exploration_noise")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate")
        refuse_outside(self, 0, 0.69, "target_entropy")
        if not self.temperature > 0:
            raise InputError(
                f"temperature is {self.temperature}: the best mu would be a step, so give a number "
                "above 0"
            )
        if not 0 <= self.mu0 < 1:
            raise InputError(
                f"mu0 is {self.mu0}: the lower bound of the inertia must lie in [0, 1), since "
                "at 1 the policy would never act on its own; try 0.1"
            )

    @property
    def traits(self) -> Traits:
        core = self.core.traits
        return Traits(scores="values", nested=True, frozen=core.frozen, actions="box")

    def parts(self, params: Tree) -> ControllerParts:
        return ControllerParts("box gate", (params,), {"mu0": self.mu0})

    def controller(self, spec: Spec) -> Controller:
        return BoxInertia(self, spec)


class BoxInertiaState(NamedTuple):
    pic: Tree  # the network of mu
    critics: Critics
    pic_optimiser: Tree
    log_alpha: Array  # of the gate's entropy
    alpha_optimiser: Tree
    key: Array  # of the noise in updates


class BoxInertia:
    """pi = mu delta(a_prev) + (1 - mu) pi_core, with mu from a network."""

    at_once = False

    def __init__(self, config: BoxInertiaConfig, spec: Spec) -> None:
        self.config, self.actions = config, spec.actions
        self.interval = config.train_interval
        (self.d,) = spec.actions.shape
        gates = self.d if config.per_dimension else 1
        self.network = Network(spec, config.hidden, gates, extra=spec.actions.width)
        self.critic = Network(spec, config.hidden, 1, extra=self.d)
        self.optimiser, self.pic_optimiser = map(
            adam, (config.learning_rate, config.pic_learning_rate)
        )

    def init(self, rng: np.random.Generator) -> BoxInertiaState:
        pic = self.network.init(rng, zero_bias=True)
        critics = init_critics(rng, self.critic, self.optimiser)
        log_alpha = jnp.log(jnp.float32(self.config.temperature))
        return BoxInertiaState(
            pic,
            critics,
            self.pic_optimiser.init(pic),
            log_alpha,
            self.pic_optimiser.init(log_alpha),
            first_key(rng),
        )

    def _pre_activation(self, pic: Tree, obs: Array, prev: Array, xp: Any = jnp) -> Array:
        return self.network(pic, obs, self.actions.encode(prev, xp), xp)

    def _inertia(self, pic: Tree, obs: Array, prev: Array, xp: Any = jnp) -> Array:
        """mu, (B, 1) or (B, d); 0 without a previous action."""
        mu = inertia(self._pre_activation(pic, obs, prev, xp), self.config.mu0, xp)
        return mu * ~self.actions.is_null(prev)[..., None]

    def _value(self, critics: Tree, obs: Array, action: Array) -> Array:
        return lower_value(self.critic, critics, obs, action)

    def update(
        self, state: BoxInertiaState, batch: Transition, core: CoreOutputs
    ) -> tuple[BoxInertiaState, dict[str, Array]]:
        config = self.config
        key, noise = noises(state.key, 4, batch.action.shape)
        gate_alpha: Number = config.temperature
        if config.auto_temperature:
            gate_alpha = jnp.exp(state.log_alpha)
        mu = self._inertia(state.pic, batch.next_obs, batch.action)
        next_value = self._mixed_value(
            state.critics.target,
            batch.next_obs,
            batch.action,
            mu,
            drawn_action(core.next, noise[0]),
            (core.temperature, gate_alpha),
            noise[1],
        )
        target = bellman_target(batch.reward, batch.discount, next_value)
        critics, critic_loss, _ = evaluation(
            state.critics, self.critic, self.optimiser, batch, target, config.target_rate
        )
        known = ~self.actions.is_null(batch.prev_action)[:, None]
        prev = jnp.where(known, batch.prev_action, 0.0)
        mu = self._inertia(state.pic, batch.obs, batch.prev_action)
        gain = self._gain(
            critics.online,
            batch.obs,
            prev,
            mu,
            drawn_action(core.now, noise[2]),
            core.temperature,
            noise[3],
        )
        best = box_losses.best_gate(gain, gate_alpha)

        def pic_loss(pic: Tree) -> tuple[Array, None]:
            x = self._pre_activation(pic, batch.obs, batch.prev_action)
            return inertia_fit(x, best, known, config.mu0), None

        pic, pic_optimiser, loss, _ = descend(
            self.pic_optimiser, pic_loss, state.pic, state.pic_optimiser
        )
        state = state._replace(pic=pic, critics=critics, pic_optimiser=pic_optimiser, key=key)
        report = {"mixed_critic_loss": critic_loss, "pic_loss": loss}
        if config.auto_temperature:
            mean = (box_losses.gate_entropy(mu) * known).sum() / jnp.maximum(known.sum(), 1)
            state, report["gate_coef"] = self._tempered(state, mean / mu.shape[-1])
        return state, report

    def _tempered(self, state: BoxInertiaState, entropy: Array) -> tuple[BoxInertiaState, Array]:
        """One step of the weight of the gate's entropy."""
        log_alpha, alpha_optimiser, _, _ = descend(
            self.pic_optimiser,
            lambda x: (
                box_losses.gate_temperature_loss(x, entropy, self.config.target_entropy),
                None,
            ),
            state.log_alpha,
            state.alpha_optimiser,
        )
        state = state._replace(log_alpha=log_alpha, alpha_optimiser=alpha_optimiser)
        return state, jnp.exp(log_alpha)

    def _mixed_value(
        self,
        critics: Tree,
        obs: Array,
        prev: Array,
        mu: Array,
        drawn: tuple[Array, Array],
        temperatures: tuple[Number, Number],
        noise: Array,
    ) -> Array:
        """V(s, a_prev) of the mixed policy, by one action of the core: (B,)."""
        (action, log_pi), (alpha, gate_alpha) = drawn, temperatures
        if not self.config.per_dimension:  # exact over the gate
            follow = box_losses.soft_value(self._value(critics, obs, action), log_pi.sum(-1), alpha)
            repeat = self._value(critics, obs, prev)
            return box_losses.mixed_value(mu[:, 0], repeat, follow, gate_alpha)
        repeats = jax.scipy.stats.norm.cdf(noise) < mu  # one draw of every gate
        taken = jnp.where(repeats, prev, action)
        followed = jnp.where(repeats, 0.0, log_pi).sum(-1)
        q = box_losses.soft_value(self._value(critics, obs, taken), followed, alpha)
        return q + gate_alpha * box_losses.gate_entropy(mu).sum(-1)

    def _gain(
        self,
        critics: Tree,
        obs: Array,
        prev: Array,
        mu: Array,
        drawn: tuple[Array, Array],
        alpha: Number,
        noise: Array,
    ) -> Array:
        """What repeating is worth more than following the core: (B, 1), or (B, d) for each number.

        A number's gain depends on the other numbers, which are repeated or not by their own mu.
        """
        action, log_pi = drawn
        if not self.config.per_dimension:
            follow = box_losses.soft_value(self._value(critics, obs, action), log_pi.sum(-1), alpha)
            return (self._value(critics, obs, prev) - follow)[:, None]
        repeats = jax.scipy.stats.norm.cdf(noise) < mu
        one = jnp.eye(self.d, dtype=bool)[:, None]  # (d, 1, d): which number is looked at
        others = jnp.where(repeats, prev, action)
        repeat, follow = (
            jax.vmap(lambda a: self._value(critics, obs, a))(jnp.where(one, x, others))
            for x in (prev, action)
        )
        return (repeat - follow).T + alpha * log_pi

    def acting(self, state: BoxInertiaState) -> Tree:
        return state.pic

    def apply(
        self, params: Tree, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        mu = self._inertia(params, obs, prev_action, xp)
        policy = Mixture(mu, prev_action, core.policy)  # type: ignore[arg-type]
        return Acting(
            policy, core.policy, mu if self.config.per_dimension else mu[:, 0], core.scores
        )

    def hold_probability(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        """The mean of mu(s, a_prev), whatever the agent wants."""
        return np.asarray(self._inertia(params, obs, prev_action, np)).mean(-1)

    def draw(self, step: int, rng: np.random.Generator) -> float:
        return 0.0

    def explore(
        self, params: Tree, obs: np.ndarray, prev: np.ndarray, core: Acting, drawn: np.ndarray
    ) -> Mixture:
        mixed: Any = self.apply(params, obs, prev, core, np).policy
        if self.config.core.traits.deterministic:
            noise = self.config.exploration_noise
            mixed = mixed._replace(core=NoisyPoint(core.policy.mode(), noise))
        return mixed
