"""How much of a reward is chance, so that chance does not drown what critics learn.

A network learns the mean m and the variance of the reward at (s, a, s') and whether s' ended the
episode. What m does not explain is noise: not a fall, which s' shows, but a toss that is paid
after it. A noisy reward is replaced by m. A second network learns the variance of that noise at
(s, a), and an error of a critic counts by its inverse (inverse-variance RL: Mai, Mani and Paull,
ICLR 2022), since m is not exact either. These weights depend on (s, a) alone, so that critics
still converge to the mean of their targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import optax
from jax import lax
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.learning import adam, descend
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree

LARGEST = 12.0
"""The bound of log sigma^2 on both sides, so that nothing overflows."""


class NoiseState(NamedTuple):
    """Two networks and their optimiser's state."""

    params: dict[str, Tree]
    """"outcome": the mean and log variance at (s, a, s'); "action": log variance at (s, a)."""
    optimiser: Tree


class Cleaned(NamedTuple):
    """What critics learn from."""

    reward: Array
    """(B,) rewards without their noise."""
    weights: Array
    """(B,) how much an error counts; their mean is 1."""


class RewardNoise:
    """The noise of rewards.

    Args:
        spec: The spaces of the task. For images, s' is not looked at.
        hidden: Units of each hidden layer.
        learning_rate: Adam's.
    """

    def __init__(self, spec: Spec, hidden: tuple[int, ...], learning_rate: float) -> None:
        self.actions: Any = spec.actions
        self.n_seen = 0 if spec.image is not None else spec.obs_dim - spec.core_outputs
        width = spec.actions.width
        self.outcome = Network(spec, hidden, 2, width + 1 + self.n_seen)
        self.action = Network(spec, hidden, 1, width)
        self.optimiser: optax.GradientTransformation = adam(learning_rate)

    def init(self, rng: np.random.Generator) -> NoiseState:
        params = {"outcome": self.outcome.init(rng), "action": self.action.init(rng)}
        return NoiseState(params, self.optimiser.init(params))

    def learn(
        self, state: NoiseState, batch: Transition, reward: Array
    ) -> tuple[NoiseState, Cleaned]:
        """Clean the rewards of a minibatch, and learn from them.

        Args:
            state: The networks before the step, which do the cleaning.
            batch: Transitions.
            reward: (B,) what the env paid, without prices and in the unit of the critics.
        """
        action = self.actions.encode(batch.action, jnp)
        ended = (batch.discount == 0).astype(jnp.float32)[:, None]
        seen = (batch.next_obs[:, : self.n_seen],) if self.n_seen else ()
        outcome: tuple[Array, ...] = (action, ended, *seen)

        def loss(params: dict[str, Tree]) -> tuple[Array, Cleaned]:
            x = self.outcome(params["outcome"], batch.obs, outcome)
            mean, rest = x[..., 0], _bounded(x[..., 1])
            noise = _bounded(self.action(params["action"], batch.obs, action)[..., 0])
            weights = losses.precision_weights(noise)
            cleaned = Cleaned(losses.cleaned_reward(reward, mean, rest), weights)
            fit = losses.moments_loss(mean, rest, reward)
            return fit + losses.moments_loss(lax.stop_gradient(mean), noise, reward), cleaned

        params, optimiser, _, cleaned = descend(self.optimiser, loss, state.params, state.optimiser)
        return NoiseState(params, optimiser), cleaned


def _bounded(x: Array) -> Array:
    return LARGEST * jnp.tanh(x / LARGEST)
