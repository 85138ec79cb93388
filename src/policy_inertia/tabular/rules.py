"""The rule in the proof of Theorem 3.1: repeat where this gains in return and in oscillation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.errors import InputError, nearest
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import (
    core_as_mixed,
    core_values,
    count_values,
    expected_return,
    mixed_policy,
    oscillation,
    repeat_indicator,
    state_value,
    switch_indicator,
)

_TIE = 1e-12  # a gain below this is a tie


@dataclass(frozen=True)
class Smoothed:
    """Return and oscillation of a core and of a mixed policy around it."""

    mu: np.ndarray
    policy: np.ndarray
    core_return: float
    return_: float
    core_oscillation: float
    oscillation: float

    @property
    def return_margin(self) -> float:
        """J(pi) - J(pi_core), at least 0 if Theorem 3.1 holds."""
        return self.return_ - self.core_return

    @property
    def oscillation_margin(self) -> float:
        """xi(pi_core) - xi(pi), at least 0 if Theorem 3.1 holds."""
        return self.core_oscillation - self.oscillation

    def holds(self, tolerance: float = 1e-9) -> bool:
        """Whether both inequalities of Theorem 3.1 hold here."""
        return min(self.return_margin, self.oscillation_margin) >= -tolerance


def smoothing_rule(
    mdp: MDP, core: ArrayLike, criterion: str = "repeats", weight: float = 1.0
) -> Smoothed:
    """Apply the rule in the proof of Theorem 3.1: repeat where this gains twice.

    The rule compares repeating a_prev once in s, and following the core from then on, with
    following the core at once. Repeating must be better in return, r(s, a_prev) - A' + C' - B' > 0,
    and in oscillation, (1 - A) + (C - B) > 0. The criterion says how oscillation is measured:

    - "repeats": r_o, as in the proof. The expected number of repeats never falls. If all episodes
      have the same length, the oscillation ratio never rises.
    - "switches": the expected number of switches never rises, for episodes of any length. This is
      the same rule as "repeats" if all episodes have the same length.
    - "ratio": the oscillation ratio itself never rises, for episodes of any length.
    - "state-only": r_o, with V_o(s) read as V_o(s, null), independent of a_prev. It guarantees
      nothing; it exists to show that this reading fails.

    Args:
        mdp: The MDP.
        core: Core policy.
        criterion: A name in `CRITERIA`.
        weight: The `mu` where the rule repeats.

    Returns:
        The rule's mu and mixed policy, compared with the core. With a horizon, mu depends on time.
    """
    if criterion not in CRITERIA:
        raise InputError(f"there is no criterion '{criterion}'{nearest(criterion, CRITERIA)}")
    core = mdp.check_core(core)
    gain = np.minimum(return_gain(mdp, core), CRITERIA[criterion](mdp, core))
    mu = np.where(gain > _TIE, weight, 0.0)
    return compare(mdp, core, mu)


def compare(mdp: MDP, core: ArrayLike, mu: np.ndarray) -> Smoothed:
    """Compare the mixed policy with any `mu` with its core, in return and oscillation."""
    core = mdp.check_core(core)
    before, after = core_as_mixed(core), mixed_policy(core, mu)
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
    return q - state_value(core, q)[..., None]


def _count_gain(mdp: MDP, core: np.ndarray, indicator: np.ndarray) -> np.ndarray:
    """Q_o(s, a_prev, a_prev) - V_o(s, a_prev) of the core: the bracket of Equation (theorem:2)."""
    pi = core_as_mixed(core)
    q = count_values(mdp, pi, indicator)
    repeated = np.diagonal(q[..., :-1, :], axis1=-2, axis2=-1)
    return repeated - state_value(pi, q)[..., :-1]


def _repeats_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    return _count_gain(mdp, core, repeat_indicator(mdp.actions))


def _switches_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    return _count_gain(mdp, core, -switch_indicator(mdp.actions))


def _state_only_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    """(1 - A) + (C - B) with V_o(s, null) in place of V_o(s, a_prev)."""
    pi = core_as_mixed(core)
    v = state_value(pi, count_values(mdp, pi, repeat_indicator(mdp.actions)))[..., -1]
    if mdp.horizon:
        v = np.concatenate([v[1:], np.zeros((1, mdp.states))])  # the value at the next time
    future = (1.0 if mdp.horizon else mdp.gamma) * np.einsum("sat,...t->...sa", mdp.P, v)
    return (1 - core) + future - state_value(core, future)[..., None]


def _ratio_gain(mdp: MDP, core: np.ndarray) -> np.ndarray:
    """How much E[c / n] falls if a_prev is repeated now, for the worst number of earlier switches.

    With c switches so far, the expected ratio from (t, s, a_prev) on is c g + h: g = E[1 / n], and
    h the expected later switches divided by n. The gain is linear in c, so the two ends decide: no
    switch so far, and t - 1 switches.
    """
    if mdp.horizon is None:
        raise InputError(
            f"{mdp.name} has no horizon: use the criterion 'switches' for a discounted MDP"
        )
    switch = switch_indicator(mdp.actions)[:-1]
    gain = np.zeros((mdp.horizon, mdp.states, mdp.actions))
    g = np.full(mdp.states, 1 / mdp.horizon)
    h = np.zeros((mdp.states, mdp.actions))
    for t in reversed(range(mdp.horizon)):
        # after action a in s: E[1 / n], and the expected later switches divided by n
        if t + 1 == mdp.horizon:
            g_after, h_after = np.full(core[t].shape, 1 / mdp.horizon), np.zeros(core[t].shape)
        else:
            g_after = mdp.ends / (t + 1) + mdp.P @ g
            h_after = np.einsum("sat,ta->sa", mdp.P, h)
        g = state_value(core[t], g_after)
        later = state_value(core[t], h_after)[:, None]
        h = np.einsum("sa,ba,sa->sb", core[t], switch, g_after) + later
        longer, fewer = g[:, None] - g_after, h - h_after
        gain[t] = np.minimum(fewer, fewer + max(t - 1, 0) * longer)
    return gain


CRITERIA: dict[str, Callable[[MDP, np.ndarray], np.ndarray]] = {
    "repeats": _repeats_gain,
    "switches": _switches_gain,
    "ratio": _ratio_gain,
    "state-only": _state_only_gain,
}
