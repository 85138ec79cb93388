"""The paper's equations, one function each, in the maths' names; batched over leading axes.

Nothing here knows of networks, optimisers or states. `pi` always comes as its logarithm.
Equation labels are those of the paper's LaTeX source, "B" is its Supplementary B.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.scipy.special import logsumexp

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.types import Array, Number

LOG_ZERO = -1e4
"""The logarithm of a zero probability: finite, so that no gradient becomes NaN, and so small that
its exponential is exactly 0."""

IMPOSSIBLE = np.float32(-1e30)
"""The value of an action that cannot be taken: below every other, and finite."""


def chosen(q: Array, action: Array, xp: Any = jnp) -> Array:
    """q[..., action]: (..., B, A) and (B,) -> (..., B); a product, as XLA's gather is slower."""
    if xp is np:
        return q[..., np.arange(len(action)), action]
    return (q * one_hot(action, q.shape[-1])).sum(-1)


def soft_value(log_pi: Array, q: Array, alpha: Number) -> Array:
    """V = pi^T [Q - alpha log pi].

    Equation (V(theta)) with the core's `log_pi` and `alpha_core`, Equation
    (soft_v_calc_for_mixed_policy) with the mixed policy's.
    """
    return (jnp.exp(log_pi) * (q - alpha * log_pi)).sum(-1)


def greedy_value(q: Array) -> Array:
    """V = max_a Q(s, a), the bootstrap of vanilla DQN."""
    return q.max(-1)


def double_value(q: Array, q_online: Array) -> Array:
    """V = Q(s, argmax_a Q_online(s, a)), the bootstrap of double DQN (van Hasselt et al., 2016)."""
    return chosen(q, q_online.argmax(-1))


def bellman_target(reward: Array, discount: Array, next_value: Array) -> Array:
    """r + gamma V(s'), the target in Equations (J(theta)) and (J(vartheta)); a constant."""
    return lax.stop_gradient(reward + discount * next_value)


def bellman_residual(
    q: Array,
    action: Array,
    target: Array,
    huber: float | None = None,
    weights: Array | None = None,
) -> Array:
    """L(theta) = E[1/2 (Q(s, a) - target)^2], Equations (J(theta)) and (J(vartheta)).

    Twins on a leading axis are summed: each minimises its own residual. From an error of `huber`
    on it grows linearly, as in the DQN of Mnih et al. (2015). With (B,) weights, rows count by
    them.
    """
    error = chosen(q, action) - target
    loss = 0.5 * error**2
    if huber is not None:
        size = jnp.abs(error)
        loss = jnp.where(size <= huber, loss, huber * (size - 0.5 * huber))
    if weights is not None:
        loss = weights * loss
    return loss.mean(-1).sum()


def moments_loss(mean: Array, log_variance: Array, x: Array) -> Array:
    """L = E[sigma / 2 ((x - m)^2 / sigma^2 + log sigma^2)], the first sigma a constant.

    Its minimum is the mean m and the variance sigma^2 of x. This is the beta-NLL of Seitzer et al.
    (ICLR 2022) with beta = 1/2: the negative log-likelihood of a normal distribution, in which an x
    that is far from m does not lose its weight.
    """
    sigma = jnp.exp(lax.stop_gradient(log_variance) / 2)
    return 0.5 * (sigma * ((x - mean) ** 2 * jnp.exp(-log_variance) + log_variance)).mean()


NOISE = 1 / 400
"""The variance of a reward that counts as noise, as a share of the mean square of the values: noise
below a twentieth of the values is none."""


def cleaned_reward(reward: Array, mean: Array, log_variance: Array) -> Array:
    """m + w (r - m), w = 1 / (1 + sigma^2 / NOISE): the reward, or its mean if it is noise.

    A constant.

    Args:
        reward: (B,) r, in the unit of values.
        mean: (B,) m, what is known of it.
        log_variance: (B,) log sigma^2 of the rest.
    """
    w = 1 / (1 + jnp.exp(log_variance) / NOISE)
    return lax.stop_gradient(mean + w * (reward - mean))


def precision_weights(log_variance: Array) -> Array:
    """(B,) w = 1 / (sigma^2 + NOISE), divided by their mean. A constant.

    Args:
        log_variance: (B,) log sigma^2 of the rewards, in the unit of values.
    """
    w = 1 / (jnp.exp(log_variance) + NOISE)
    return lax.stop_gradient(w / w.mean())


def soft_policy_loss(log_pi: Array, q: Array, alpha: Number) -> Array:
    """L = E[pi^T [alpha log pi - Q]], gradients through `log_pi` alone.

    Equation (J(phi)) with the core's policy; B's L^pic(psi) with the mixed policy, whose core must
    then be a constant (`log_mixture` stops its gradient).
    """
    return -soft_value(log_pi, lax.stop_gradient(q), alpha).mean()


def temperature_loss(log_alpha: Array, log_pi: Array, target_entropy: float) -> Array:
    """E[pi^T [-alpha (log pi + target)]], gradients through alpha alone (an option for SAC)."""
    entropy = -(jnp.exp(log_pi) * log_pi).sum(-1)
    return jnp.exp(log_alpha) * lax.stop_gradient(entropy - target_entropy).mean()


def inertia(x: Array, mu0: float, xp: Any = jnp) -> Array:
    """mu = mu0 + (1 - mu0) (tanh(x) + 1) / 2 of the PIC network's pre-activation x."""
    return mu0 + (1 - mu0) * (xp.tanh(x) + 1) / 2


def best_inertia(
    q: Array, log_pi_core: Array, prev_action: Array, alpha: Number
) -> tuple[Array, Array]:
    """The mu that maximises pi^T [Q - alpha log pi]: the minimum of B's L^pic(psi), in closed form.

    With x the probability of a_prev under the mixed policy, p the core's, and V_other the soft
    value of the core's other actions: x* = sigmoid((Q(s, a_prev, a_prev) - V_other) / alpha), and
    mu* = (x* - p) / (1 - p), not below 0. For whole tables: `tabular.iteration.soft_inertia`.

    Args:
        q: (B, A) Q(s, a_prev, .).
        log_pi_core: (B, A) the core's log-probabilities.
        prev_action: (B,) previous actions; -1 for none.
        alpha: Weight of the mixed policy's entropy, above 0.

    Returns:
        (B,) mu*, and (B,) the weight 1 - p: 0 where mu has no effect on the policy.
    """
    repeat = prev_action[:, None] == jnp.arange(q.shape[-1])
    others = jnp.where(repeat, LOG_ZERO, log_pi_core)
    log_weight = logsumexp(others, axis=-1)  # log(1 - p), exact also where p is nearly 1
    other = soft_value(others - log_weight[:, None], q, alpha)
    gain = (chosen(q, prev_action) - other) / alpha
    # 1 - mu* = (1 - x*) / (1 - p)
    mu = 1 - jnp.exp(jnp.minimum(-jnp.logaddexp(0.0, gain) - log_weight, 0.0))
    return mu, jnp.exp(log_weight) * (prev_action >= 0)


def inertia_fit(x: Array, mu: Array, weight: Array, mu0: float) -> Array:
    """E[weight * cross-entropy of sigmoid(2x)], gradients through the pre-activation `x` alone.

    Its minimum is `inertia(x, mu0) = max(mu, mu0)`. The gradient by the logit 2x is
    weight * (sigmoid(2x) - target): it does not vanish where the network's mu is 0 or 1.
    """
    target = lax.stop_gradient(jnp.maximum((mu - mu0) / (1 - mu0), 0.0))
    return (lax.stop_gradient(weight) * (jnp.logaddexp(0.0, 2 * x) - target * 2 * x)).mean()


def log_mixture(
    x: Array, log_pi_core: Array, prev_action: Array, mu0: float, xp: Any = jnp
) -> Array:
    """log pi(.|s, a_prev), Equation (mixed_policy), from the PIC network's pre-activation x (B,).

    pi = mu delta(a_prev) + (1 - mu) pi_core. Since (tanh(x) + 1) / 2 = sigmoid(2x), both weights
    have exact logarithms and the sum is a `logaddexp`: no probability is ever added to an epsilon.
    Without a previous action (-1) the mixed policy is the core. The core is a constant here.
    """
    if xp is jnp:
        log_pi_core = lax.stop_gradient(log_pi_core)
    x, prev_action = x[..., None], prev_action[..., None]
    log_keep = math.log1p(-mu0)  # Python floats: they leave float32 as it is
    log_release = log_keep - xp.logaddexp(0.0, 2 * x)  # log(1 - mu)
    log_mu = log_keep - xp.logaddexp(0.0, -2 * x)
    if mu0 > 0:
        log_mu = xp.logaddexp(math.log(mu0), log_mu)
    follow = log_release + log_pi_core
    repeat = prev_action == xp.arange(log_pi_core.shape[-1])
    mixed = xp.where(repeat, xp.logaddexp(log_mu, follow), follow)
    return xp.where(prev_action < 0, log_pi_core, mixed)


def allowed_values(q: Array, log_pi_core: Array, xp: Any = jnp) -> Array:
    """Q(s, a_prev, .) with IMPOSSIBLE for the actions that the core must not take (see `masks`)."""
    return xp.where(is_forbidden(log_pi_core), IMPOSSIBLE, q)


def allowed_previous(prev_action: Array, log_pi_core: Array, xp: Any = jnp) -> Array:
    """a_prev (B,), or -1 where it is forbidden now: then there is nothing to repeat."""
    return xp.where(is_forbidden(chosen(log_pi_core, prev_action, xp)), -1, prev_action)


def log_greedy(q: Array, xp: Any = jnp) -> Array:
    """The greedy policy as log-probabilities: 0 at the first maximum, LOG_ZERO elsewhere."""
    return log_certain(q.argmax(-1), q.shape[-1], xp)


def log_certain(action: Array, n_actions: int, xp: Any = jnp) -> Array:
    """The policy that takes `action`, as log-probabilities: 0 there, LOG_ZERO elsewhere."""
    return (action[..., None] != xp.arange(n_actions)) * np.float32(LOG_ZERO)


def gate(q: Array, log_pi_core: Array, prev_action: Array, xp: Any = jnp) -> tuple[Array, Array]:
    """Decide by `q` = Q(s, a_prev, .) whether to repeat: mu, and the action to take.

    mu is 1 where repeating is worth as much as the core's likeliest action, else 0. Without a
    previous action (-1), mu is 0 and the action is the core's.
    """
    core_action = log_pi_core.argmax(-1)
    repeat = (chosen(q, prev_action, xp) >= chosen(q, core_action, xp)) & (prev_action >= 0)
    return repeat.astype(np.float32), xp.where(repeat, prev_action, core_action)
