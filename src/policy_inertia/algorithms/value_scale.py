"""Values in a unit that follows the task, so that losses and learning rates mean the same on all.

A critic holds Q / size, where `size` is the root mean square of its own targets, averaged over many
updates. When the size changes, the last layer is changed with it, so that Q stays what it was: the
PopArt of van Hasselt et al. (2016) without its shift. If all rewards are multiplied by a power of
two, a learner takes the same steps bit for bit.
"""

from __future__ import annotations

from typing import Any

import jax
import optax
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.learning import Critics, Residual, soft_evaluation
from policy_inertia.algorithms.reward_noise import RewardNoise
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree

RATE = 0.001
"""The share of a minibatch in the mean square of the targets."""


def known_size(size: Array, reward: Array) -> Array:
    """The size so far, or else the root mean square of a minibatch's rewards; 0: all were 0."""
    return jnp.where(size > 0, size, jnp.sqrt((reward**2).mean()))


def divisor(size: Array) -> Array:
    """The unit of values: the size, or 1 as long as every reward was 0."""
    return jnp.where(size > 0, size, 1.0)


def next_size(size: Array, target: Array) -> tuple[Array, Array]:
    """The size after targets in its unit were seen: its square moves to their mean square.

    Returns:
        The new size, and the factor from values in the old unit to values in the new one.
    """
    growth = jnp.sqrt(1 + RATE * ((target**2).mean() - 1))
    return size * growth, jnp.where(size > 0, 1 / growth, 1.0)


def times(network: Tree, factor: Number) -> Tree:
    """A network, or twins, whose outputs are multiplied by a factor."""
    if isinstance(network, dict):
        return {**network, "head": times(network["head"], factor)}
    *layers, last = network
    return [*layers, jax.tree.map(lambda x: x * factor, last)]


def rescaled(critics: Critics, size: Array, target: Array) -> tuple[Critics, Array]:
    """Twins in the unit after targets in the unit `size` were seen, and that unit."""
    new, factor = next_size(size, target)
    average = None if critics.average is None else times(critics.average, factor)
    online, target_critics = times(critics.online, factor), times(critics.target, factor)
    return critics._replace(online=online, target=target_critics, average=average), new


def scaled_evaluation(
    critics: Critics,
    size: Array,
    network: Network,
    optimiser: optax.GradientTransformation,
    batch: Transition,
    extra: Array | None,
    next_value: Array,
    rate: float,
    huber: float | None = None,
    at_once: bool = False,
    residual_of: Residual = losses.bellman_residual,
    average_rate: float = 1.0,
    noise: RewardNoise | None = None,
    reward: Array | None = None,
) -> tuple[Critics, Array, Array]:
    """Take one step of `learning.soft_evaluation`, with rewards and values in the unit `size`.

    Args:
        critics: The twins before the step; they hold Q / size.
        size: The unit, a positive number, or 0 as long as every reward was 0.
        network: The twins' architecture.
        optimiser: The twins' optimiser.
        batch: Transitions, with rewards in that unit.
        extra: What the critics see beside the observation, or None.
        next_value: V of the next observations, in that unit.
        rate: The share of the critics that moves into their targets.
        huber: See `losses.bellman_residual`; in that unit.
        at_once: See `learning.soft_evaluation`.
        residual_of: See `learning.soft_evaluation`.
        average_rate: The share of the critics that moves into their average, if they have one.
        noise: Cleans the rewards and weighs the errors; None: rewards as they are, all alike.
        reward: (B,) what the env paid, in that unit, if `batch` has prices in its rewards.

    Returns:
        The twins after the step, in the unit after it; that unit; and the loss.
    """
    known: Any = critics.noise
    weights = None
    if noise is not None:
        paid = batch.reward if reward is None else reward
        known, cleaned = noise.learn(known, batch, paid)
        batch = batch._replace(reward=batch.reward + (cleaned.reward - paid))
        weights = cleaned.weights
    target = losses.bellman_target(batch.reward, batch.discount, next_value)
    evaluated = soft_evaluation(
        critics,
        network,
        optimiser,
        batch,
        extra,
        next_value,
        rate,
        huber,
        at_once,
        residual_of,
        weights=weights,
    )
    stepped, average = evaluated.critics, critics.average
    if average is not None:
        average = optax.incremental_update(stepped.online, average, average_rate)
    stepped = stepped._replace(average=average, noise=known)
    return *rescaled(stepped, size, target), evaluated.loss
