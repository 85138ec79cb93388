"""The parts that learners with Box actions share: critics of (s, a), and noise in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.actions.box import Point
from policy_inertia.actions.gaussian import SquashedGaussian
from policy_inertia.algorithms import box_losses
from policy_inertia.algorithms.learning import Critics, descend
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree


def first_key(rng: np.random.Generator) -> Array:
    """The state of a learner's own random numbers, as two words, from a run's generator."""
    words = rng.uniform(0, 2**24, (2,))  # whole numbers that float32 holds
    return jnp.asarray(words).astype(jnp.uint32)


def noises(key: Array, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The next key, and `n` arrays of standard Gaussian numbers, (n, *shape)."""
    key, used = jax.random.split(key)
    return key, jax.random.normal(used, (n, *shape))


def drawn_action(core: Any, noise: Array) -> tuple[Array, Array]:
    """An action of the core and the log-density of each of its numbers: (B, d) each.

    A core that is certain has no density: its logarithm counts as 0.
    """
    return DRAWS[type(core)](core, noise)


DRAWS: dict[type, Callable[[Any, Array], tuple[Array, Array]]] = {
    SquashedGaussian: lambda x, noise: box_losses.squashed_sample(x.mean, x.log_std, noise),
    Point: lambda core, noise: (core.actions, jnp.zeros_like(core.actions)),
}
"""By the core's kind of distribution."""


def certain_action(core: Any) -> Array:
    """The action that the core takes without noise: (B, d)."""
    return CERTAIN[type(core)](core)


CERTAIN: dict[type, Callable[[Any], Array]] = {
    SquashedGaussian: lambda core: jnp.tanh(core.mean),
    Point: lambda core: core.actions,
}
"""By the core's kind of distribution."""


def value(network: Network, critics: Tree, obs: Array, action: Array) -> Array:
    """Q(s, a) of twin critics: (2, B)."""
    return network(critics, obs, action)[..., 0]


def lower_value(network: Network, critics: Tree, obs: Array, action: Array) -> Array:
    """The lower Q(s, a) of twin critics: (B,)."""
    first, second = value(network, critics, obs, action)
    # the gradient of `min` divides by how many are equal to it, which rounding can make 0
    return jnp.minimum(first, second)


class BoxEvaluated(NamedTuple):
    """The result of one step of policy evaluation."""

    critics: Critics
    loss: Array
    q: Array
    """(2, B) values of the transitions' actions before the step."""


def evaluation(
    critics: Critics,
    network: Network,
    optimiser: optax.GradientTransformation,
    batch: Transition,
    target: Array,
    rate: Number,
    extra: Array | None = None,
) -> BoxEvaluated:
    """Take one step of the twins towards a target, and move their averages.

    Args:
        critics: The twins before the step.
        network: The twins' architecture; its inputs are (s, a) and `extra`.
        optimiser: The twins' optimiser.
        batch: Transitions.
        target: (B,) or (2, B) the targets of Q.
        rate: The share of the twins that moves into their averages.
        extra: (B, k) what the twins see beside (s, a), or None.
    """
    inputs = batch.action if extra is None else jnp.concatenate([batch.action, extra], -1)

    def loss(online: Tree) -> tuple[Array, Array]:
        q = value(network, online, batch.obs, inputs)
        return box_losses.residual(q, target), q

    online, state, size, q = descend(optimiser, loss, critics.online, critics.optimiser)
    averaged = optax.incremental_update(online, critics.target, rate)
    return BoxEvaluated(Critics(online, averaged, state), size, q)
