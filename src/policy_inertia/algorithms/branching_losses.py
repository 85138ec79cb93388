"""The equations of branching dueling Q-learning, one function each.

Tavakoli, Pardo and Kormushev, "Action Branching Architectures for Deep Reinforcement Learning",
AAAI 2018. Rows of Q-values hold the heads one behind the other; `parts` has the place of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.types import Array, Number

Parts = tuple[slice, ...]


def dueling_matrix(parts: Parts) -> np.ndarray:
    """The matrix of Q_d(s, a) = V(s) + A_d(s, a) - mean_a A_d(s, a), (1 + width, width).

    It turns a row (V, A_1, ..., A_D) into the heads' Q-values. The function is linear, so that a
    trained network can hold it in its last layer.
    """
    width = parts[-1].stop
    matrix = np.zeros((1 + width, width), np.float32)
    matrix[0] = 1
    for part in parts:
        n = part.stop - part.start
        matrix[1 + part.start : 1 + part.stop, part] = np.eye(n) - 1 / n
    return matrix


def branching_value(q: Array, chooser: Array, parts: Parts) -> Array:
    """V = mean_d Q_d(s, argmax_a chooser_d(s, a)): (B, width) -> (B,).

    The chooser is the network itself, as in double DQN, or its target.
    """
    values = [losses.double_value(q[..., part], chooser[..., part]) for part in parts]
    return jnp.stack(values).mean(0)


def branching_residual(
    q: Array,
    action: Array,
    target: Array,
    parts: Parts,
    huber: float | None = None,
    weights: Array | None = None,
) -> Array:
    """L = mean_d E[1/2 (Q_d(s, a_d) - target)^2]; all heads have one target.

    Args:
        q: (B, width) the heads' Q-values.
        action: (B, D) the actions.
        target: (B,) r + gamma V(s').
        parts: The place of each head.
        huber: See `losses.bellman_residual`.
        weights: See `losses.bellman_residual`.
    """
    each = [
        losses.bellman_residual(q[..., part], action[..., d], target, huber, weights)
        for d, part in enumerate(parts)
    ]
    return jnp.stack(each).mean()


def log_greedy_heads(q: Array, parts: Parts, xp: Any = jnp) -> Array:
    """Each head's greedy policy as log-probabilities, one behind the other."""
    return xp.concatenate([losses.log_greedy(q[..., part], xp) for part in parts], axis=-1)


def chosen_heads(q: Array, action: Array, parts: Parts, xp: Any = jnp) -> Array:
    """The values of the heads' actions: (B, width) and (B, H) -> (B, H)."""
    each = [losses.chosen(q[..., part], action[..., d], xp) for d, part in enumerate(parts)]
    return xp.stack(each, -1)


def likeliest_heads(log_pi: Array, parts: Parts, xp: Any = jnp) -> Array:
    """The likeliest action of each head, (B, H)."""
    return xp.stack([log_pi[..., part].argmax(-1) for part in parts], -1)


def gate_heads(
    q: Array,
    log_pi_core: Array,
    prev_action: Array,
    begin: Number = 0,
    xp: Any = jnp,
    *,
    parts: Parts,
) -> tuple[Array, Array]:
    """mu and the action of each head, (B, H) each; see `losses.gate`.

    It is a `controllers.valued.Choice` for several heads. The core always begins.
    """
    each = [
        losses.gate(q[..., part], log_pi_core[..., part], prev_action[..., d], xp)
        for d, part in enumerate(parts)
    ]
    return xp.stack([mu for mu, _ in each], -1), xp.stack([a for _, a in each], -1)


def allowed_previous_heads(
    prev_action: Array, log_pi_core: Array, parts: Parts, xp: Any = jnp
) -> Array:
    """a_prev (B, H), or -1 in the heads where it is forbidden now: there, nothing is repeated."""
    each = [
        losses.allowed_previous(prev_action[..., d], log_pi_core[..., part], xp)
        for d, part in enumerate(parts)
    ]
    return xp.stack(each, -1)
