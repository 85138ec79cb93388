"""Lemma 3.1 (intermidiate_policy_improvement): does a better core make a better mixed policy?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import core_values, mixed_policy, mixed_values, state_value


@dataclass(frozen=True)
class IntermediateImprovement:
    """How a new core changes the mixed policy, and what Lemma 3.1 and our bound guarantee."""

    improvement: float
    """min (Q_core_new - Q_core_old), at least 0 for an improvement."""
    bound: float
    """The largest mu for which the lemma guarantees anything, Equation (pic_ineq)."""
    guaranteed: float
    """(1 - 4 / N) times the improvement: the lemma's guarantee if mu is within the bound."""
    actual: float
    """min (Q_mid - Q_old)."""
    within: bool
    """Whether mu is within the bound and the core did not get worse."""
    sharper: float
    """Our own guarantee, for any mu; see `intermediate_improvement`."""
    sharper_bound: float
    """The largest mu for which our guarantee is at least 0 (without entropy)."""


def intermediate_policy(new_core: ArrayLike, mu: ArrayLike) -> np.ndarray:
    """pi_mid = mu_old delta(a_prev) + (1 - mu_old) pi_core_new; the paper omits 1 - mu_old."""
    return mixed_policy(new_core, mu)


def intermediate_improvement(
    mdp: MDP,
    old_core: ArrayLike,
    new_core: ArrayLike,
    mu: np.ndarray,
    alpha: float = 0.0,
    n: float = 4.0,
    signed: bool = False,
) -> IntermediateImprovement:
    """Compute both sides of Lemma 3.1, and of our sharper guarantee.

    Our guarantee: acting once by the mixed policy instead of the core gains mu A(s, a_prev),
    wherever this happens. So the shift of the state distribution does not matter, and

        Q_mid - Q_core_new >= -m L D         with m = max mu, L = sum over t >= 1 of gamma**t,
        Q_core_old - Q_old >= -m L U         D = max -A_core_new, U = max A_core_old.

    Together: Q_mid - Q_old >= improvement - m L (D + U). The paper's proof sums t gamma**t instead
    of gamma**t, which is 1 / (1 - gamma) times as large. With entropy, the mixture adds at most its
    own entropy, h(m) = -m log m - (1 - m) log(1 - m).

    Args:
        mdp: The MDP.
        old_core: Core before the inner improvement.
        new_core: Core after it.
        mu: Inertia, the same before and after.
        alpha: Temperature of the objective.
        n: The lemma's N, at least 4.
        signed: Take C_0 as the largest A, as printed, instead of the largest |A|.

    Returns:
        The improvement, the bounds on mu and the guarantees. The advantage is A = Q - V with V the
        soft value.
    """
    if not n >= 4:
        raise InputError(f"n is {n}: Lemma 3.1 needs N of at least 4")
    old_core, new_core = mdp.check_core(old_core), mdp.check_core(new_core)
    q_core_old, q_core_new = (core_values(mdp, c, alpha) for c in (old_core, new_core))
    old, mid = mixed_policy(old_core, mu), intermediate_policy(new_core, mu)
    q_old, q_mid = (mixed_values(mdp, pi, alpha) for pi in (old, mid))
    improvement = float((q_core_new - q_core_old).min())
    a_new = q_core_new - state_value(new_core, q_core_new, alpha)[..., None]
    a_core_old = q_core_old - state_value(old_core, q_core_old, alpha)[..., None]
    a_old = q_old - state_value(old, q_old, alpha)[..., None]
    c0 = float(max(a_new.max(), a_old.max()) if signed else max(abs(a_new).max(), abs(a_old).max()))
    bound = _largest_mu(improvement, n * c0 * mdp.discount_sum(1))
    m = float(np.max(mu))
    later = mdp.discount_sum()
    swing = float((-a_new).max() + a_core_old.max())
    return IntermediateImprovement(
        improvement,
        bound,
        (1 - 4 / n) * improvement,
        float((q_mid - q_old).min()),
        improvement >= 0 and m <= bound,
        improvement - later * (m * swing + alpha * _largest_entropy(m)),
        _largest_mu(improvement, later * swing),
    )


def _largest_mu(improvement: float, weight: float) -> float:
    """The largest mu in [0, 1] with mu * weight <= improvement."""
    if weight > 0:
        return float(np.clip(improvement / weight, 0, 1))
    return 1.0 if improvement >= 0 else 0.0


def _largest_entropy(m: float) -> float:
    """The largest entropy of a binary choice with a probability of at most m."""
    m = min(m, 0.5)
    return float(-m * np.log(m) - (1 - m) * np.log1p(-m)) if m > 0 else 0.0
