"""Lemma (intermidiate_policy_improvement): does a better core make a better mixed policy?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import core_values, mixed, mixed_values, value


@dataclass(frozen=True)
class Intermediate:
    """What an inner improvement does to the mixed policy, and what is promised of it."""

    improvement: float
    """min (Q_core_new - Q_core_old), at least 0 for an improvement."""
    bound: float
    """The largest mu for which the lemma promises anything, Equation (pic_ineq)."""
    guaranteed: float
    """(1 - 4 / N) times the improvement, which the lemma promises if mu is within the bound."""
    actual: float
    """min (Q_mid - Q_old)."""
    within: bool
    """Whether mu is within the bound, and the core did not get worse."""
    sharper: float
    """A promise of our own, for any mu (see `intermediate`)."""
    sharper_bound: float
    """The mu up to which that promise is at least 0 (plain objective)."""


def mid_policy(new_core: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """pi_mid = mu_old delta(a_prev) + (1 - mu_old) pi_core_new; the paper omits the 1 - mu_old."""
    return mixed(new_core, mu)


def intermediate(
    mdp: MDP,
    old_core: np.ndarray,
    new_core: np.ndarray,
    mu: np.ndarray,
    alpha: float = 0.0,
    n: float = 4.0,
    signed: bool = False,
) -> Intermediate:
    """Both sides of the lemma with N = `n`; C_0 is the largest |A| (`signed`: the largest A).

    The sharper promise: acting once by the mixed policy instead of the core gains mu A(s, a_prev),
    wherever that happens; the shift of the state's distribution does not matter. So

        Q_mid - Q_core_new >= -m L D         with m = max mu, L = sum over t >= 1 of gamma**t,
        Q_core_old - Q_old >= -m L U         D = max -A_core_new, U = max A_core_old,

    and Q_mid - Q_old >= improvement - m L (D + U): 1 / (1 - gamma) less than the paper's t gamma**t
    asks for. With entropy the mixture adds at most its own, h(m) = -m log m - (1 - m) log(1 - m).
    """
    if not n >= 4:
        raise InputError(f"n is {n}: the lemma is for N of at least 4")
    old_core, new_core = mdp.core(old_core), mdp.core(new_core)
    q_core_old, q_core_new = (core_values(mdp, c, alpha) for c in (old_core, new_core))
    old, mid = mixed(old_core, mu), mid_policy(new_core, mu)
    q_old, q_mid = (mixed_values(mdp, pi, alpha) for pi in (old, mid))
    improvement = float((q_core_new - q_core_old).min())
    a_new = q_core_new - value(new_core, q_core_new, alpha)[..., None]
    a_core_old = q_core_old - value(old_core, q_core_old, alpha)[..., None]
    a_old = q_old - value(old, q_old, alpha)[..., None]
    c0 = float(max(a_new.max(), a_old.max()) if signed else max(abs(a_new).max(), abs(a_old).max()))
    bound = _ratio(improvement, n * c0 * mdp.later(1))
    m = float(np.max(mu))
    later = mdp.later()
    swing = float((-a_new).max() + a_core_old.max())
    return Intermediate(
        improvement,
        bound,
        (1 - 4 / n) * improvement,
        float((q_mid - q_old).min()),
        improvement >= 0 and m <= bound,
        improvement - later * (m * swing + alpha * _entropy(m)),
        _ratio(improvement, later * swing),
    )


def _ratio(improvement: float, weight: float) -> float:
    """The largest mu with mu * weight <= improvement."""
    if weight > 0:
        return float(np.clip(improvement / weight, 0, 1))
    return 1.0 if improvement >= 0 else 0.0


def _entropy(m: float) -> float:
    """The largest entropy of a coin that falls with a probability of at most m."""
    m = min(m, 0.5)
    return float(-m * np.log(m) - (1 - m) * np.log1p(-m)) if m > 0 else 0.0
