"""Theorem (smoothness): a mixed policy that is no worse and no less smooth than its core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from policy_inertia.errors import InputError, nearest
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import (
    alone,
    core_values,
    counted_values,
    expected_return,
    mixed,
    oscillation,
    repeats,
    switches,
    value,
)


@dataclass(frozen=True)
class Smoothed:
    """A core and its mixed policy, with both sides of the theorem's two inequalities."""

    mu: np.ndarray
    policy: np.ndarray
    core_return: float
    return_: float
    core_oscillation: float
    oscillation: float

    @property
    def return_margin(self) -> float:
        """J(pi) - J(pi_core): at least 0 if the theorem holds."""
        return self.return_ - self.core_return

    @property
    def oscillation_margin(self) -> float:
        """xi(pi_core) - xi(pi): likewise."""
        return self.core_oscillation - self.oscillation

    def holds(self, tolerance: float = 1e-9) -> bool:
        """Whether both inequalities are true here."""
        return min(self.return_margin, self.oscillation_margin) >= -tolerance


def smoother(mdp: MDP, core: np.ndarray, measure: str = "repeats", weight: float = 1.0) -> Smoothed:
    """The rule in the proof of Theorem (smoothness): mu = `weight` where repeating gains twice.

    Repeating a_prev in s and following the core from then on must be better than the core both in
    return, r(s, a_prev) - A' + C' - B' > 0, and in oscillation, (1 - A) + (C - B) > 0. What the
    latter counts is the `measure`:

    - "repeats": r_o, as in the proof. It guarantees more repeats; that is a smaller oscillation
      ratio if all episodes have the same length.
    - "switches": their number. It never rises, whatever the lengths; the same rule as the first if
      there is one length only.
    - "ratio": the oscillation ratio itself, for episodes of any length (see `_ratio_gain`).
    - "state-only": r_o with V_o(s) as if it did not depend on a_prev, as the proof's notation has
      it. It guarantees nothing; it is here to be refuted.

    With a horizon the gains, and so `mu`, depend on the time.
    """
    if measure not in MEASURES:
        raise InputError(f"there is no measure '{measure}'{nearest(measure, MEASURES)}")
    core = mdp.core(core)
    gain = np.minimum(return_gain(mdp, core), MEASURES[measure](mdp, core))
    mu = np.where(gain > _ROUNDING, weight, 0.0)
    return compare(mdp, core, mu)


_ROUNDING = 1e-12  # a gain below this is a tie


def compare(mdp: MDP, core: np.ndarray, mu: np.ndarray) -> Smoothed:
    """Return and oscillation of the core and of the mixed policy with any `mu`."""
    core = mdp.core(core)
    before, after = alone(core), mixed(core, mu)
    return Smoothed(
        mu,
        after,
        expected_return(mdp, before),
        expected_return(mdp, after),
        oscillation(mdp, before),
        oscillation(mdp, after),
    )


def return_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    """Q_core(s, a_prev) - V_core(s): the bracket of Equation (theorem:3)."""
    q = core_values(mdp, core)
    return q - value(core, q)[..., None]


def _counted_gain(mdp: MDP, core: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Q_o(s, a_prev, a_prev) - V_o(s, a_prev) of the core: the bracket of Equation (theorem:2)."""
    pi = alone(core)
    q = counted_values(mdp, pi, counted)
    repeated = np.diagonal(q[..., :-1, :], axis1=-2, axis2=-1)
    return repeated - value(pi, q)[..., :-1]


def _state_only_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    """(1 - A) + (C - B) with V_o(s, null) in place of V_o(s, a_prev)."""
    pi = alone(core)
    v = value(pi, counted_values(mdp, pi, repeats(mdp.actions)))[..., -1]
    if mdp.horizon:
        v = np.concatenate([v[1:], np.zeros((1, mdp.states))])  # of the next time
    future = (1.0 if mdp.horizon else mdp.gamma) * np.einsum("sat,...t->...sa", mdp.P, v)
    return (1 - core) + future - value(core, future)[..., None]


def _ratio_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    """How much E[c / n] falls if a_prev is repeated now, for the worst number of earlier switches.

    With c switches so far, the ratio expected from (t, s, a_prev) on is c g + h: g = E[1 / n], and
    h the later switches over n. The gain is linear in c, so it is enough to look at both ends: no
    switch so far, and t - 1.
    """
    if mdp.horizon is None:
        raise InputError(f"{mdp.name} has no horizon: measure 'switches' is for discounted MDPs")
    changed = switches(mdp.actions)[:-1]
    gain = np.zeros((mdp.horizon, mdp.states, mdp.actions))
    g = np.full(mdp.states, 1 / mdp.horizon)
    h = np.zeros((mdp.states, mdp.actions))
    for t in reversed(range(mdp.horizon)):
        last = t + 1 == mdp.horizon
        # after action a in s: E[1 / n], and the switches after it over n
        g_after = np.full(core[t].shape, 1 / mdp.horizon) if last else (
            mdp.stops / (t + 1) + mdp.P @ g
        )  # fmt: skip
        h_after = np.zeros(core[t].shape) if last else np.einsum("sat,ta->sa", mdp.P, h)
        g = value(core[t], g_after)
        h = np.einsum("sa,ba,sa->sb", core[t], changed, g_after) + value(core[t], h_after)[:, None]
        longer, fewer = g[:, None] - g_after, h - h_after
        gain[t] = np.minimum(fewer, fewer + max(t - 1, 0) * longer)
    return gain


MEASURES: dict[str, Callable[[MDP, np.ndarray], np.ndarray]] = {
    "repeats": lambda mdp, core: _counted_gain(mdp, core, repeats(mdp.actions)),
    "switches": lambda mdp, core: _counted_gain(mdp, core, -switches(mdp.actions)),
    "ratio": _ratio_gain,
    "state-only": _state_only_gain,
}
