"""The parts that several algorithms learn with: Adam, one gradient step, twin critics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree

LARGE = 1_000_000
"""From this many numbers on, joining a network into one vector costs more than it saves."""


def adam(learning_rate: float) -> optax.GradientTransformation:
    """Adam with optax's defaults.

    A small perceptron is updated as one flat vector: one fused loop is faster than one per leaf.
    With convolutions it is slower: an update of MinAtar's DQN takes 8 times as long.
    """
    each = optax.adam(learning_rate)
    joined = optax.flatten(each)

    def fitting(tree: Tree) -> optax.GradientTransformation:
        size = sum(leaf.size for leaf in jax.tree.leaves(tree))
        convolutions = isinstance(tree, dict) and "torso" in tree
        return each if convolutions or size >= LARGE else joined

    return optax.GradientTransformation(
        lambda params: fitting(params).init(params),
        lambda gradient, state, params=None: fitting(gradient).update(gradient, state, params),
    )


class Step(NamedTuple):
    """The result of one gradient step."""

    params: Tree
    optimiser: Tree
    loss: Array
    extra: Any
    """What the loss function returned beside the loss."""


def descend(
    optimiser: optax.GradientTransformation,
    loss: Callable[[Tree], tuple[Array, Any]],
    params: Tree,
    optimiser_state: Tree,
) -> Step:
    """Take one gradient step on `loss`, which returns the loss and anything else of interest."""
    (value, extra), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    updates, optimiser_state = optimiser.update(gradient, optimiser_state)
    return Step(optax.apply_updates(params, updates), optimiser_state, value, extra)


def tempered(
    optimiser: optax.GradientTransformation, state: Any, loss: Callable[[Array], Array]
) -> tuple[Any, Array]:
    """Take one gradient step of a state's `log_alpha`; return the new state and the loss."""
    log_alpha, alpha_optimiser, value, _ = descend(
        optimiser, lambda x: (loss(x), None), state.log_alpha, state.alpha_optimiser
    )
    return state._replace(log_alpha=log_alpha, alpha_optimiser=alpha_optimiser), value


class Critics(NamedTuple):
    """Twin critics on a leading axis, their targets, and their optimiser's state."""

    online: Tree
    target: Tree
    optimiser: Tree
    average: Tree | None = None  # of the critics so far, for the policy; None: the targets are it
    noise: Tree | None = None  # `reward_noise.NoiseState`; None: all errors count alike


def init_critics(
    rng: np.random.Generator,
    network: Network,
    optimiser: optax.GradientTransformation,
    averaged: bool = False,
) -> Critics:
    """Make two different critics, and targets, and an average if asked, that start as copies."""
    online = network.init(rng, twins=2)
    # copies: a donated state must not hold one buffer twice
    target, average = (jax.tree.map(jnp.copy, online) for _ in range(2))
    return Critics(online, target, optimiser.init(online), average if averaged else None)


def average_rate(averaged: float, updates: float) -> float:
    """The share of a network that moves into its average, which then spans a share of a run.

    Args:
        averaged: That share of the run.
        updates: The updates of the whole run.
    """
    return 1 / updates_in(averaged, updates)


def joined(twins: Array, pessimistic: bool) -> Array:
    """(2, ...) the values of twins -> (...) the one that counts: the lower, or their mean."""
    return twins.min(0) if pessimistic else twins.mean(0)


def updates_in(share: float, updates: float) -> float:
    """A share of a run's updates as a number of them, at least 1."""
    return max(share * updates, 1)


Residual = Callable[..., Array]
"""From Q-values, actions, targets, `huber` and `weights` to a loss; see
`losses.bellman_residual`."""


class Evaluated(NamedTuple):
    """The result of one step of policy evaluation."""

    critics: Critics
    q: Array
    """(B, A) one value of the twins at the observations, by default the lower."""
    loss: Array


def soft_evaluation(
    critics: Critics,
    network: Network,
    optimiser: optax.GradientTransformation,
    batch: Transition,
    extra: Array | None,
    next_value: Array,
    rate: float,
    huber: float | None = None,
    at_once: bool = False,
    residual_of: Residual = losses.bellman_residual,
    pessimistic: bool = True,
    weights: Array | None = None,
) -> Evaluated:
    """Take one step of soft policy evaluation: J(theta) of the core, J(vartheta) of the mixed one.

    Args:
        critics: The twins before the step.
        network: The twins' architecture.
        optimiser: The twins' optimiser.
        batch: Transitions.
        extra: What the critics see beside the observation, or None.
        next_value: V of the next observations, by the targets.
        rate: The share of the critics that moves into their targets.
        huber: See `losses.bellman_residual`.
        at_once: Return Q of the critics before the step, which the loss has computed anyway,
            instead of after it.
        residual_of: The loss of Q-values, actions and targets.
        pessimistic: Which value of the twins it returns; see `joined`.
        weights: See `losses.bellman_residual`.
    """
    y = losses.bellman_target(batch.reward, batch.discount, next_value)

    def residual(online: Tree) -> tuple[Array, Array]:
        q = network(online, batch.obs, extra)
        return residual_of(q, batch.action, y, huber=huber, weights=weights), q

    online, optimiser_state, loss, before = descend(
        optimiser, residual, critics.online, critics.optimiser
    )
    target = optax.incremental_update(online, critics.target, rate)
    q = before if at_once else network(online, batch.obs, extra)
    stepped = Critics(online, target, optimiser_state)
    return Evaluated(stepped, joined(q, pessimistic), loss)
