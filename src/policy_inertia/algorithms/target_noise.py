"""How noisy the targets of critics are, so that errors count by what they tell.

An error counts by 1 / sigma^2(s, a), the precision of its target. A second network learns sigma
from the errors. The weights depend on what critics see, never on the target itself, so that what
they converge to is still the mean of the targets. The idea is that of inverse-variance RL (Mai,
Mani and Paull, ICLR 2022).
"""

from __future__ import annotations

from collections.abc import Callable
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
    """A network of log sigma^2, and its optimiser's state."""

    params: Tree
    optimiser: Tree


class TargetNoise:
    """The noise of targets at observations, other inputs and actions.

    Args:
        spec: The spaces of the task.
        hidden: Units of each hidden layer.
        extra: How many numbers critics see beside the observation.
        learning_rate: Adam's.
        value_of: From the critics' outputs and actions to (..., B) the values of those actions.
    """

    def __init__(
        self,
        spec: Spec,
        hidden: tuple[int, ...],
        extra: int,
        learning_rate: float,
        value_of: Callable[[Array, Array], Array],
    ) -> None:
        self.actions: Any = spec.actions
        self.network = Network(spec, hidden, 1, extra + spec.actions.width)
        self.optimiser: optax.GradientTransformation = adam(learning_rate)
        self.value_of = value_of

    def init(self, rng: np.random.Generator) -> NoiseState:
        params = self.network.init(rng)
        return NoiseState(params, self.optimiser.init(params))

    def weights(self, state: NoiseState, batch: Transition, extra: Array, value: Array) -> Array:
        """(B,) weights of transitions, with a mean of 1.

        Args:
            state: The network.
            batch: Transitions.
            extra: What the critics see beside the observations.
            value: (B,) values in the unit of the targets; noise below them counts little.
        """
        return losses.precision_weights(self._log_variance(state.params, batch, extra), value)

    def learn(
        self, state: NoiseState, batch: Transition, extra: Array, q: Array, target: Array
    ) -> NoiseState:
        """Learn from the errors of a minibatch.

        Args:
            state: The network before the step.
            batch: Transitions.
            extra: What the critics see beside the observations.
            q: The twins' values before their step.
            target: (B,) what they should be.
        """
        error = self.value_of(q, batch.action).mean(0) - target

        def loss(params: Tree) -> tuple[Array, None]:
            return losses.noise_loss(self._log_variance(params, batch, extra), error), None

        params, optimiser, _, _ = descend(self.optimiser, loss, state.params, state.optimiser)
        return NoiseState(params, optimiser)

    def _log_variance(self, params: Tree, batch: Transition, extra: Array) -> Array:
        inputs = (extra, self.actions.encode(batch.action, jnp))
        x = self.network(params, batch.obs, inputs)[..., 0]
        return LARGEST * jnp.tanh(x / LARGEST)
