"""The equations of learners with Box actions, one function each; batched over leading axes.

Actions are rows of d numbers from -1 to 1. Nothing here knows of networks, optimisers or states.
"""

from __future__ import annotations

import math
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.special import entr, expit

from policy_inertia.types import Array, Number

LOG_STD = (-20.0, 2.0)
"""Bounds of the logarithm of a standard deviation, as in the code of the SAC paper."""


def log_gaussian(noise: Array, log_std: Array) -> Array:
    """log N(m + s noise; m, s) for each number: (..., d) -> (..., d)."""
    return -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)


def log_slope(u: Array, xp: Any = jnp) -> Array:
    """log d tanh(u) / du = log(1 - tanh(u)^2), exact for every u."""
    return 2 * (math.log(2) - u - xp.logaddexp(0.0, -2 * u))


def squashed_sample(mean: Array, log_std: Array, noise: Array) -> tuple[Array, Array]:
    """a = tanh(m + s noise) and the log-density of each of its numbers (Haarnoja et al., 2018, C).

    Args:
        mean: (..., d) m.
        log_std: (..., d) log s.
        noise: (..., d) from a standard Gaussian.

    Returns:
        a, (..., d), and log pi(a_i), (..., d); log pi(a) is their sum.
    """
    u = mean + jnp.exp(log_std) * noise
    return jnp.tanh(u), log_gaussian(noise, log_std) - log_slope(u)


def bounded_log_std(x: Array, xp: Any = jnp) -> Array:
    """A network's output, held within `LOG_STD`."""
    return xp.clip(x, *LOG_STD)


def residual(q: Array, target: Array) -> Array:
    """L(theta) = E[1/2 (Q(s, a) - target)^2]; twins on a leading axis are summed."""
    return (0.5 * (q - target) ** 2).mean(-1).sum()


def soft_value(q: Array, log_pi: Array, alpha: Number) -> Array:
    """V = Q(s, a) - alpha log pi(a|s), with one a from pi: Equation 3 of Haarnoja et al. (2018)."""
    return q - alpha * log_pi


def soft_actor_loss(q: Array, log_pi: Array, alpha: Number) -> Array:
    """L(phi) = E[alpha log pi(a|s) - Q(s, a)], gradients through a and log pi: Equation 7 there."""
    return (lax.stop_gradient(jnp.asarray(alpha)) * log_pi - q).mean()


def temperature_loss(log_alpha: Array, log_pi: Array, target_entropy: float) -> Array:
    """E[-alpha (log pi + target)], gradients through alpha alone: Equation 18 there."""
    return -jnp.exp(log_alpha) * lax.stop_gradient(log_pi + target_entropy).mean()


def gate_entropy(mu: Array) -> Array:
    """h(mu) = -mu log mu - (1 - mu) log(1 - mu), the entropy of repeating or not; 0 at the ends."""
    return entr(mu) + entr(1 - mu)


def mixed_entropy(mu: Array, core_entropy: Array) -> Array:
    """H of pi = mu delta(a_prev) + (1 - mu) pi_core: h(mu) + (1 - mu) H(pi_core).

    The atom has no volume, so density and atom do not mix. One mu for all numbers: (B,) and the
    core's whole entropy (B,). One for each number: (B, d) and (B, d), to be summed over d.
    """
    return gate_entropy(mu) + (1 - mu) * core_entropy


def mixed_value(mu: Array, repeat: Array, follow: Array, gate_alpha: Number) -> Array:
    """V(s, a_prev) = mu Q(s, a_prev) + (1 - mu) V_core + alpha_gate h(mu), for one mu: (B,).

    Args:
        mu: (B,) the inertia.
        repeat: (B,) Q(s, a_prev).
        follow: (B,) V_core = Q(s, a) - alpha log pi_core(a|s), with a from the core.
        gate_alpha: The weight of the gate's entropy.
    """
    return mu * repeat + (1 - mu) * follow + gate_alpha * gate_entropy(mu)


def best_gate(gain: Array, gate_alpha: Number) -> Array:
    """The mu that maximises `mixed_value`: sigmoid(gain / alpha_gate), with gain = repeat - follow.

    With one mu for each number, gain is what repeating that number is worth, given the others.
    """
    return expit(gain / gate_alpha)


def gate_temperature_loss(log_alpha: Array, entropy: Array, target: float) -> Array:
    """E[alpha (h(mu) - target)], gradients through alpha alone."""
    return jnp.exp(log_alpha) * lax.stop_gradient(entropy - target)


def l1_cost(action: Array, prev: Array) -> Array:
    """c(a, a_prev): the mean of |a_i - a_prev,i| as a share of the range; (..., d) -> (...).

    It has a kink at a_prev: below some gain the best move is none, a dead band with exact repeats.
    """
    return jnp.abs(action - prev).mean(-1) / 2


def squared_cost(action: Array, prev: Array) -> Array:
    """c(a, a_prev): the mean square of (a_i - a_prev,i) as a share of the range.

    The best move is a share of the whole way: a low-pass that depends on the state.
    """
    return ((action - prev) ** 2).mean(-1) / 4


def unclipped(x: Array) -> Array:
    """clip(x, 0, 1) with the gradient of x, so that a mu at 0 or 1 can come back."""
    return x + lax.stop_gradient(jnp.clip(x, 0, 1) - x)


def blend(core: Array, prev: Array, mu: Array, xp: Any = jnp) -> Array:
    """a = a_prev + (1 - mu) (a_core - a_prev), exactly a_core at mu = 0 and a_prev at mu = 1."""
    way = core + mu * (prev - core)
    return way if xp is jnp else xp.where(mu == 1, prev, way)  # rounding matters when it acts


def priced_actor_loss(u: Array, price: Number, cost: Array) -> Array:
    """L = -E[U(s, a, lambda) - lambda c(a, a_prev)], gradients through the action."""
    return -(u - price * cost).mean()


def deterministic_actor_loss(q: Array) -> Array:
    """L(phi) = -E[Q_1(s, pi(s))], gradients through the action: Equation 1 of Fujimoto (2018)."""
    return -q[0].mean()


def caps_distance(action: Array, other: Array) -> Array:
    """E||pi(s) - pi(s')||_2, with s' the next state (L_T of CAPS) or one near s (L_S).

    CAPS is Mysore et al. (2021), "Regularizing Action Policies for Smooth Control".
    """
    squares = ((action - other) ** 2).sum(-1)
    return jnp.sqrt(squares + 1e-12).mean()  # its gradient is finite where both are the same


def alignment(action: Array, other: Array) -> Array:
    """L_S and L_P of ASAP: E[1/2 (a - b)^2] over batch and numbers, gradients through a alone.

    L_S: a is the action at s', and b what was predicted for it at s. L_P: a is that prediction, and
    b the action. ASAP is Kwak and Hwang (2026), "Enhancing Control Policy Smoothness by Aligning
    Actions with Predictions from Preceding States".
    """
    return 0.5 * ((action - lax.stop_gradient(other)) ** 2).mean()


def bend(before: Array, action: Array, after: Array, known: Array) -> Array:
    """E[1/2 (2 a_t - a_{t-1} - a_{t+1})^2 tanh(1 / d^2)], d = a_{t+1} - a_{t-1}: L_T of ASAP.

    The second difference of Grad-CAPS (Lee et al., 2024, "Gradient-based Regularization for Action
    Smoothness in Robotic Control"); the weight, without a gradient, spares large moves.

    Args:
        before: (B, d) the action at the state before.
        action: (B, d) the action.
        after: (B, d) the action at the next state.
        known: (B,) whether there is a state before: at an episode's start there is none.
    """
    move = after - before + 1e-4
    weight = lax.stop_gradient(jnp.tanh(1 / move**2))
    squares = 0.5 * (2 * action - after - before) ** 2 * weight
    return (squares * known[:, None]).mean()


def smoothed_action(action: Array, noise: Array, deviation: float, clip: float) -> Array:
    """clip(a + clip(deviation noise, -c, c), -1, 1): the target policy of TD3 (Fujimoto, 2018)."""
    return jnp.clip(action + jnp.clip(deviation * noise, -clip, clip), -1, 1)
