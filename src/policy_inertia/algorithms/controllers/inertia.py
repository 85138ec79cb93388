"""The paper's policy inertia controller: a network for mu(s, a_prev), trained with twin critics.

Around SAC it is the paper's NSAC, around DQN our NDQN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers.warm_up import WATCHED, WarmUp
from policy_inertia.algorithms.interface import Acting, CoreOutputs
from policy_inertia.algorithms.learning import (
    Critics,
    adam,
    descend,
    init_critics,
    soft_evaluation,
)
from policy_inertia.algorithms.nested import Controller, ControllerParts, NestedConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError, refuse_huber, refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree

REPEATS_WHILE_WATCHING = 0.1


@dataclass(frozen=True)
class InertiaConfig(NestedConfig):
    """Settings of the policy inertia controller; the defaults are the paper's for Highway."""

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
    """Transitions collected for each update of the controller (m)."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer of the controller and of its critics."""
    huber: float | None = None
    """The loss of an error of Q above this size grows linearly, not as its square; None: never, as
    in the paper. Smaller is more stable but gives rare crashes less weight."""
    at_once: bool = False
    """Compute every loss from the parameters before this update, instead of one after the other,
    as the paper does; faster for large networks."""
    improvement: Literal["gradient", "closed-form"] = "gradient"
    """How mu is improved: by the gradient of its loss, as in the paper, or by a fit to the best mu,
    which has a closed form. The gradient vanishes where mu is near 0 or 1, so a mu that went there
    while the critics were wrong stays there; the fit comes back."""
    warmup: int = 0
    """Transitions for which the core acts alone, except for a tenth of repeated actions, and the
    critics learn its value. Over as many again the controller takes over. Use it for a core that
    is already good."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "pic_learning_rate", "temperature", "warmup")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate")
        refuse_huber(self.huber)
        if self.improvement not in IMPROVEMENTS:
            raise InputError(
                f"improvement is {self.improvement!r}: give one of {', '.join(IMPROVEMENTS)}"
            )
        if self.improvement == "closed-form" and self.temperature == 0:
            raise InputError(
                "temperature is 0 with the improvement closed-form: the best mu would be a step, "
                "so give a temperature above 0, such as 0.01"
            )
        if not 0 <= self.mu0 < 1:
            raise InputError(
                f"mu0 is {self.mu0}: the lower bound of the inertia must lie in [0, 1), since "
                "at 1 the policy would never act on its own; try 0.1"
            )

    def controller(self, spec: Spec) -> Controller:
        return Inertia(self, spec)

    def parts(self, params: Tree) -> ControllerParts:
        return ControllerParts("mixture", (params,), {"mu0": self.mu0})


def _gradient(
    x: Array, log_core: Array, prev_action: Array, q: Array, config: InertiaConfig
) -> Array:
    """The paper's loss of mu: B's L^pic(psi)."""
    log_pi = losses.log_mixture(x, log_core, prev_action, config.mu0)
    return losses.soft_policy_loss(log_pi, q, config.temperature)


def _closed_form(
    x: Array, log_core: Array, prev_action: Array, q: Array, config: InertiaConfig
) -> Array:
    """The distance from the mu that minimises the paper's loss."""
    best, weight = losses.best_inertia(q, log_core, prev_action, config.temperature)
    return losses.inertia_fit(x, best, weight, config.mu0)


IMPROVEMENTS = {"gradient": _gradient, "closed-form": _closed_form}
"""The losses of mu by the name of the setting, from mu's pre-activations and Q(s, a_prev, .)."""


class InertiaState(NamedTuple):
    pic: Tree  # the network of mu
    critics: Critics
    pic_optimiser: Tree


class Inertia:
    """pi = mu delta(a_prev) + (1 - mu) pi_core, with mu from a network.

    The methods from `pre_activation` on are for one list of actions; `head_inertia` has those for
    several heads.
    """

    outputs = 1
    """How many numbers the network of mu returns."""
    residual: Any = staticmethod(losses.bellman_residual)

    def __init__(self, config: InertiaConfig, spec: Spec) -> None:
        self.config, self.n_actions, self.masked = config, spec.actions.width, spec.masked
        self.actions: Any = spec.actions
        self.interval, self.at_once = config.train_interval, config.at_once
        self.network, self.value = (
            Network(spec, config.hidden, outputs, extra=self.n_actions)
            for outputs in (self.outputs, self.n_actions)
        )
        self.optimiser, self.pic_optimiser = map(
            adam, (config.learning_rate, config.pic_learning_rate)
        )
        self.warm_up = WarmUp(config.warmup, REPEATS_WHILE_WATCHING, spec.actions)

    def init(self, rng: np.random.Generator) -> InertiaState:
        pic = self.network.init(rng, zero_bias=True)
        critics = init_critics(rng, self.value, self.optimiser)
        return InertiaState(pic, critics, self.pic_optimiser.init(pic))

    def update(
        self, state: InertiaState, batch: Transition, core: CoreOutputs
    ) -> tuple[InertiaState, dict[str, Array]]:
        config = self.config
        now, then = (self.actions.encode(a, jnp) for a in (batch.prev_action, batch.action))
        q_next = self.value(state.critics.target, batch.next_obs, then).min(0)
        log_pi_next = self.mixture(
            self.pre_activation(state.pic, batch.next_obs, then),
            core.next.log_pi,
            self._allowed(batch.action, core.next.log_pi),
        )
        critics, q, critic_loss = soft_evaluation(
            state.critics,
            self.value,
            self.optimiser,
            batch,
            now,
            self.state_value(log_pi_next, q_next),
            config.target_rate,
            config.huber,
            config.at_once,
            self.residual,
        )

        prev_action = self._allowed(batch.prev_action, core.now.log_pi)

        def pic_loss(pic: Tree) -> tuple[Array, None]:
            x = self.pre_activation(pic, batch.obs, now)
            return self.inertia_loss(x, core.now.log_pi, prev_action, q), None

        pic, pic_optimiser, loss, _ = descend(
            self.pic_optimiser, pic_loss, state.pic, state.pic_optimiser
        )
        report = {"mixed_critic_loss": critic_loss, "pic_loss": loss}
        return InertiaState(pic, critics, pic_optimiser), report

    def _allowed(self, prev_action: Array, log_core: Array, xp: Any = jnp) -> Array:
        """The previous action, or the null action where a mask forbids it."""
        return self.repeatable(prev_action, log_core, xp) if self.masked else prev_action

    def acting(self, state: InertiaState) -> Tree:
        return state.pic

    def apply(
        self, params: Tree, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        x = self.pre_activation(params, obs, self.actions.encode(prev_action, xp), xp)
        log_core = core.policy.log_pi
        prev_action = self._allowed(prev_action, log_core, xp)
        log_pi = self.mixture(x, log_core, prev_action, xp)
        mu = losses.inertia(x, self.config.mu0, xp) * (prev_action >= 0)
        return Acting(self.actions.distribution(log_pi), core.policy, mu, log_pi)

    def hold_probability(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        """mu(s, a_prev), whatever the agent wants."""
        x = self.pre_activation(params, obs, self.actions.encode(prev_action), np)
        return np.asarray(losses.inertia(x, self.config.mu0, np))

    def draw(self, step: int, rng: np.random.Generator) -> float:
        if not self.config.warmup:
            return 0.0
        return WATCHED if self.warm_up.watches(step, rng) else rng.random()

    def explore(
        self, params: Tree, obs: np.ndarray, prev: np.ndarray, core: Acting, drawn: np.ndarray
    ) -> Any:
        policy = self.apply(params, obs, prev, core, np).policy
        return self.warm_up.policy(policy, core.policy, prev, drawn)

    # --- the form of the actions ----------------------------------------------------------------

    def pre_activation(self, pic: Tree, obs: Array, last: Array, xp: Any = jnp) -> Array:
        """(B,) the number of which mu is made; `last` is the one-hot of a_prev."""
        return self.network(pic, obs, last, xp)[..., 0]

    def mixture(self, x: Array, log_core: Array, prev_action: Array, xp: Any = jnp) -> Array:
        """(B, A) the logarithm of the mixed policy; see `losses.log_mixture`."""
        return losses.log_mixture(x, log_core, prev_action, self.config.mu0, xp)

    def state_value(self, log_pi: Array, q: Array) -> Array:
        """(B,) the soft value of the mixed policy."""
        return losses.soft_value(log_pi, q, self.config.temperature)

    def inertia_loss(self, x: Array, log_core: Array, prev_action: Array, q: Array) -> Array:
        """The loss of mu, a number."""
        return IMPROVEMENTS[self.config.improvement](x, log_core, prev_action, q, self.config)

    def repeatable(self, prev_action: Array, log_core: Array, xp: Any = jnp) -> Array:
        """The previous actions, or -1 where they are forbidden now."""
        return losses.allowed_previous(prev_action, log_core, xp)
