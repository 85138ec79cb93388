"""What an algorithm is: a bundle of pure functions, made by a constructor that closes over them."""

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


class Acting(NamedTuple):
    """What a policy says of a batch of (observation, previous action)."""

    log_pi: Array  # (B, A) of the policy that acts: the mixed policy of a nested algorithm
    log_pi_core: Array  # (B, A) of the core; the same as log_pi where nothing is nested
    mu: Array  # (B,) the inertia; 0 where nothing is nested or there is no previous action
    scores: Array  # (B, A) what hysteresis compares: log-probabilities, or Q where they are not


class Said(NamedTuple):
    """What a core said of a minibatch before it was improved, for whoever else wants to know."""

    log_pi: Array  # (B, A) of the observations
    log_pi_next: Array  # (B, A) of the next ones


Updated = tuple[Tree, dict[str, Array], Said | None]


class Algorithm(NamedTuple):
    """The pure functions that make up an algorithm.

    init(rng) -> state: all that learning carries along, a pytree.
    update(state, batch, due) -> (state, losses, said): one update of every part whose entry in
        `due`, an array of booleans as long as `intervals`, is true. `said` may be None.
    acting(state) -> params: the part of the state that acting needs.
    apply(params, obs, prev_action, xp) -> Acting: with `xp` NumPy on the host, JAX in the learner.
    exploration(updates) -> epsilon: the share of uniformly random actions in training.
    intervals: each part is updated after every so many transitions (m_core, m).
    behave(params, obs, prev_action, u) -> log_pi: on the host, how to act in training where that
        depends on a number `u` in [0, 1) drawn for each episode; None where `apply` says it all.
    at(params, price) -> params: a dial's, turned to a price of switching; None without a dial.
    opening(step) -> share: of the episodes that begin at this step, how many are drawn a `u`; in
        the others, whose `u` is -1, `behave` leaves the acting to the core. None: always all.
    """

    init: Callable[[np.random.Generator], Tree]
    update: Callable[[Tree, Transition, Array], Updated]
    acting: Callable[[Tree], Tree]
    apply: Callable[..., Acting]
    exploration: Callable[[int], float]
    intervals: tuple[int, ...]
    behave: Callable[..., np.ndarray] | None = None
    at: Callable[[Tree, Array], Tree] | None = None
    opening: Callable[[int], float] | None = None


def no_exploration(updates: int) -> float:
    """Stochastic policies explore by sampling."""
    return 0.0


LARGE = 1_000_000
"""Numbers in a network from which joining them into one vector costs more than it saves."""


def adam(learning_rate: float) -> optax.GradientTransformation:
    """Adam with optax's defaults; over one flat vector, one fused loop instead of one per leaf,
    where a network is not large."""
    each = optax.adam(learning_rate)
    joined = optax.flatten(each)

    def fitting(tree: Tree) -> optax.GradientTransformation:
        size = sum(leaf.size for leaf in jax.tree.leaves(tree))
        return each if size >= LARGE else joined

    return optax.GradientTransformation(
        lambda params: fitting(params).init(params),
        lambda gradient, state, params=None: fitting(gradient).update(gradient, state, params),
    )


def descend(
    optimiser: optax.GradientTransformation,
    loss: Callable[[Tree], tuple[Array, Any]],
    params: Tree,
    optimiser_state: Tree,
) -> tuple[Tree, Tree, Array, Any]:
    """One gradient step on `loss`, which also tells what it has found on its way: the new
    parameters, the optimiser's state, the loss and what it told."""
    (value, said), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    updates, optimiser_state = optimiser.update(gradient, optimiser_state)
    return optax.apply_updates(params, updates), optimiser_state, value, said


class Critics(NamedTuple):
    """Twin critics on a leading axis, their targets, and their optimiser's state."""

    online: Tree
    target: Tree
    optimiser: Tree


def init_critics(
    rng: np.random.Generator, network: Network, optimiser: optax.GradientTransformation
) -> Critics:
    """Two different critics, and targets that start as their copies."""
    online = network.init(rng, twins=2)
    # copies: a donated state must not hold one buffer twice
    return Critics(online, jax.tree.map(jnp.copy, online), optimiser.init(online))


def soft_evaluation(
    critics: Critics,
    network: Network,
    optimiser: optax.GradientTransformation,
    batch: Transition,
    extra: Array,
    next_value: Array,
    rate: float,
    huber: float | None = None,
    at_once: bool = False,
) -> tuple[Critics, Array, Array]:
    """One step of soft policy evaluation, of the core (J(theta)) as of the mixed policy
    (J(vartheta)): the new critics, their smaller value now, and the loss.

    `extra` is what the critics see beside the observation, or None; `next_value` is V of the next
    one by the targets, which move by `rate`. For `huber` see `losses.bellman_residual`. The value
    is that after the step, or before it (`at_once`), which the loss has computed.
    """
    now = batch.obs, extra
    y = losses.bellman_target(batch.reward, batch.discount, next_value)

    def residual(online: Tree) -> tuple[Array, Array]:
        q = network(online, *now)
        return losses.bellman_residual(q, batch.action, y, huber), q

    online, optimiser_state, loss, q = descend(
        optimiser, residual, critics.online, critics.optimiser
    )
    target = optax.incremental_update(online, critics.target, rate)
    q = q if at_once else network(online, *now)
    return Critics(online, target, optimiser_state), q.min(0), loss


def plain(log_pi: Array, scores: Array) -> Acting:
    """Acting without a controller: the core is the policy."""
    return Acting(log_pi, log_pi, np.zeros(log_pi.shape[:-1], np.float32), scores)
