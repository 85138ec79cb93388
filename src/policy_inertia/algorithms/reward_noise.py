"""How much of a reward is chance, so that errors of critics count by what they tell.

A second network learns the mean and the variance sigma^2 of the reward at (s, a). An error of a
critic counts by 1 / sigma^2, the precision of its reward (inverse-variance RL: Mai, Mani and Paull,
ICLR 2022). Only rewards are looked at: what a critic does not know yet, such as how bad a fall is,
is no noise. The weights depend on (s, a) alone, so that critics still converge to the mean of their
targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.learning import adam, descend
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree

LARGEST = 12.0
"""The bound of log sigma^2 on both sides, so that nothing overflows."""


class NoiseState(NamedTuple):
    """A network of the mean and of log sigma^2, and its optimiser's state."""

    params: Tree
    optimiser: Tree


class RewardNoise:
    """The noise of rewards at observations and actions.

    Args:
        spec: The spaces of the task.
        hidden: Units of each hidden layer.
        learning_rate: Adam's.
    """

    def __init__(self, spec: Spec, hidden: tuple[int, ...], learning_rate: float) -> None:
        self.actions: Any = spec.actions
        self.network = Network(spec, hidden, 2, spec.actions.width)
        self.optimiser: optax.GradientTransformation = adam(learning_rate)

    def init(self, rng: np.random.Generator) -> NoiseState:
        params = self.network.init(rng)
        return NoiseState(params, self.optimiser.init(params))

    def weights(self, state: NoiseState, batch: Transition, value: Array) -> Array:
        """(B,) weights of transitions, with a mean of 1.

        Args:
            state: The network.
            batch: Transitions.
            value: (B,) values in the unit of the rewards; noise below them counts little.
        """
        return losses.precision_weights(self._moments(state.params, batch)[1], value)

    def learn(self, state: NoiseState, batch: Transition, reward: Array) -> NoiseState:
        """Learn from a minibatch.

        Args:
            state: The network before the step.
            batch: Transitions.
            reward: (B,) what the env paid, without prices and in the unit of the critics.
        """

        def loss(params: Tree) -> tuple[Array, None]:
            return losses.moments_loss(*self._moments(params, batch), reward), None

        params, optimiser, _, _ = descend(self.optimiser, loss, state.params, state.optimiser)
        return NoiseState(params, optimiser)

    def _moments(self, params: Tree, batch: Transition) -> tuple[Array, Array]:
        """(B,) the mean, and (B,) log sigma^2."""
        x = self.network(params, batch.obs, self.actions.encode(batch.action, jnp))
        return x[..., 0], LARGEST * jnp.tanh(x[..., 1] / LARGEST)
