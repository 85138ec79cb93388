"""Exact values, returns and oscillation of core policies and mixed policies.

A core is an array `core[s, a]`. A mixed policy is an array `pi[s, a_prev, a]` with A + 1 previous
actions: the last one, index -1, is the null action before an episode's first action, where the
mixed policy is the core. With a horizon, every array may have a leading time axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP

_MIXTURE_TOLERANCE = 1e-13


def mixed_policy(core: ArrayLike, mu: ArrayLike) -> np.ndarray:
    """Mix a core with repetition: pi = mu delta(a_prev) + (1 - mu) core, Equation (mixed_policy).

    Args:
        core: Core policy, (..., S, A).
        mu: Inertia `mu[..., s, a_prev]`, (..., S, A). It has no entry for the null action, because
            there is nothing to repeat.

    Returns:
        The mixed policy, (..., S, A + 1, A).
    """
    core, mu = np.asarray(core, float), np.asarray(mu, float)
    if not ((mu >= 0) & (mu <= 1)).all():
        raise InputError(f"mu ranges from {mu.min():g} to {mu.max():g}: it must lie in [0, 1]")
    core, mu = np.broadcast_arrays(core, mu)
    repeat = np.eye(core.shape[-1])
    after_action = mu[..., None] * repeat + (1 - mu[..., None]) * core[..., None, :]
    return np.concatenate([after_action, core[..., None, :]], axis=-2)


def core_as_mixed(core: ArrayLike) -> np.ndarray:
    """The core as a mixed policy, with mu = 0 everywhere."""
    return mixed_policy(core, np.zeros_like(core))


def state_value(pi: np.ndarray, q: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """V = pi^T [Q - alpha log pi], Equations (V(theta)) and (soft_v_calc_for_mixed_policy)."""
    return (pi * q).sum(-1) + alpha * entr(pi).sum(-1)


def core_values(mdp: MDP, core: ArrayLike, alpha: float = 0.0) -> np.ndarray:
    """Q_core(s, a), the fixed point of Equation (soft_q_definition), for temperature `alpha`."""
    core = mdp.check_core(core)
    if mdp.horizon is None:
        step = np.einsum("sa,sat->st", core, mdp.P)
        v = np.linalg.solve(np.eye(mdp.states) - mdp.gamma * step, state_value(core, mdp.R, alpha))
        return mdp.R + mdp.gamma * mdp.P @ v
    q = np.empty(core.shape)
    v = np.zeros(mdp.states)
    for t in reversed(range(mdp.horizon)):
        q[t] = mdp.R + mdp.gamma * mdp.P @ v
        v = state_value(core[t], q[t], alpha)
    return q


def mixed_values(
    mdp: MDP,
    pi: ArrayLike,
    alpha: float = 0.0,
    reward: np.ndarray | None = None,
    gamma: float | None = None,
) -> np.ndarray:
    """Q(s, a_prev, a) of a mixed policy.

    Args:
        mdp: The MDP.
        pi: Mixed policy, (S, A + 1, A).
        alpha: Temperature of the entropy bonus.
        reward: Reward that replaces `mdp.R`, broadcast to (S, A + 1, A); see `repeat_indicator`.
        gamma: Discount factor that replaces `mdp.gamma`.

    Returns:
        The action values, (S, A + 1, A), or (T, S, A + 1, A) with a horizon.
    """
    pi = mdp.check_mixed(pi)
    gamma = mdp.gamma if gamma is None else gamma
    shape = (mdp.states, mdp.actions + 1, mdp.actions)
    r = np.broadcast_to(mdp.R[:, None, :] if reward is None else reward, shape)
    if mdp.horizon is None:
        v = _solve(mdp, pi, state_value(pi, r, alpha)[:, :-1], gamma)
        return r + gamma * _next_value(mdp, v)[:, None, :]
    q = np.empty(pi.shape)
    v = np.zeros((mdp.states, mdp.actions))
    for t in reversed(range(mdp.horizon)):
        q[t] = r + gamma * _next_value(mdp, v)[:, None, :]
        v = state_value(pi[t], q[t], alpha)[:, :-1]
    return q


def _next_value(mdp: MDP, v: np.ndarray) -> np.ndarray:
    """E[V(s', a)] after action a in s: the action just taken is the next state's a_prev."""
    return np.einsum("sat,ta->sa", mdp.P, v, optimize=True)


def _solve(mdp: MDP, pi: np.ndarray, reward: np.ndarray, gamma: float) -> np.ndarray:
    """Solve for V(s, a_prev), for every a_prev but the null action, which no step leads to.

    If pi is a mixture of the core and repetition, then an action is either repeated or drawn from
    the core whatever a_prev was. So the system of S A equations splits into one system of S
    equations for each action, and one more that joins them. With w_a = P_a V_a and
    m = sum of core_a w_a: (1 - gamma P_a mu_a) w_a = P_a r_a + gamma P_a (1 - mu_a) m. With five
    actions this is a sixth of the work.
    """
    core = pi[:, -1]
    repeated = np.diagonal(pi[:, :-1], axis1=1, axis2=2)
    mu = np.divide(repeated - core, 1 - core, out=np.zeros_like(core), where=core < 1).clip(0, 1)
    if abs(mixed_policy(core, mu) - pi).max() > _MIXTURE_TOLERANCE:
        return _solve_any(mdp, pi, reward, gamma)
    P, mu_a = mdp.P.transpose(1, 0, 2), mu.T[:, None, :]  # (a, s, s'), (a, 1, s')
    right_side = np.concatenate([P @ reward.T[..., None], gamma * P * (1 - mu_a)], axis=-1)
    w = np.linalg.solve(np.eye(mdp.states) - gamma * P * mu_a, right_side)  # constant, and in m
    joined = np.einsum("sa,ast->st", core, w)
    m = np.linalg.solve(np.eye(mdp.states) - joined[:, 1:], joined[:, 0])
    w = (w[..., 0] + w[..., 1:] @ m).T
    return reward + gamma * (mu * w + (1 - mu) * m[:, None])


def _solve_any(mdp: MDP, pi: np.ndarray, reward: np.ndarray, gamma: float) -> np.ndarray:
    """Solve for V(s, a_prev) of any policy on (s, a_prev), as one system."""
    n = mdp.states * mdp.actions
    step = pi[:, :-1, None, :] * mdp.P.transpose(0, 2, 1)[:, None]  # (s, a_prev, s', a)
    matrix = np.eye(n) - gamma * step.reshape(n, n)
    return np.linalg.solve(matrix, reward.reshape(n)).reshape(reward.shape)


def start_value(mdp: MDP, v: np.ndarray) -> float:
    """The mean of V(s) over the first states of episodes."""
    return float(mdp.rho @ (v[0] if mdp.horizon else v))


def expected_return(mdp: MDP, pi: ArrayLike, alpha: float = 0.0) -> float:
    """J, Equation (RL-objective), or J_Ent, Equation (MaxEnt_Objective), if `alpha` is above 0."""
    pi = mdp.check_mixed(pi)
    return start_value(mdp, state_value(pi, mixed_values(mdp, pi, alpha), alpha)[..., -1])


def repeat_indicator(actions: int) -> np.ndarray:
    """r_o(a_prev, a) = 1[a = a_prev], (A + 1, A): the reward in the proof of Theorem 3.1."""
    return np.vstack([np.eye(actions), np.zeros(actions)])


def switch_indicator(actions: int) -> np.ndarray:
    """1[a != a_prev], (A + 1, A); an episode's first action is neither a switch nor a repeat."""
    return np.vstack([1 - np.eye(actions), np.zeros(actions)])


def count_values(mdp: MDP, pi: ArrayLike, indicator: np.ndarray) -> np.ndarray:
    """Q_o(s, a_prev, a): expected repeats or switches, discounted only without a horizon.

    Args:
        mdp: The MDP.
        pi: Mixed policy.
        indicator: `repeat_indicator` or `switch_indicator`.

    Returns:
        The action values of the indicator as a reward.
    """
    return mixed_values(mdp, pi, reward=indicator, gamma=1.0 if mdp.horizon else None)


def switch_rate(mdp: MDP, pi: ArrayLike) -> float:
    """Expected number of switches divided by the effective horizon.

    Without a horizon it is (1 - gamma) E[sum of gamma**t 1[a_t != a_{t-1}]]. With a horizon T it is
    E[switches] / T, undiscounted; this equals the oscillation ratio if all episodes have T steps.
    The switch rate is linear in the occupancy measure; the oscillation ratio is not.
    """
    q = count_values(mdp, pi, switch_indicator(mdp.actions))
    v = state_value(mdp.check_mixed(pi), q)[..., -1]
    return start_value(mdp, v) / mdp.effective_horizon


def oscillation_ratio(mdp: MDP, pi: ArrayLike) -> float:
    """xi, Equation (action-oscillation-ratio), as evaluated: E[c / n], n the episode's own length.

    It goes forward in time over (s, a_prev). It tracks the probability of each pair, and the
    expected number of switches so far *times* that probability. The share that ends after t + 1
    steps is divided by t + 1, so every episode length is exact and switches need no axis.

    Raises:
        InputError: The MDP has no horizon.
    """
    if mdp.horizon is None:
        raise InputError(
            f"{mdp.name} has no horizon, so no oscillation ratio: use switch_rate instead"
        )
    pi = mdp.check_mixed(pi)
    switch = switch_indicator(mdp.actions)
    visits = np.zeros((mdp.states, mdp.actions + 1))
    visits[:, -1] = mdp.rho
    switches = np.zeros_like(visits)  # expected switches so far, times the visits
    ratio = 0.0
    for t in range(mdp.horizon):
        taken = np.einsum("sb,sba->sa", visits, pi[t])
        switched = np.einsum("sb,sba->sa", switches, pi[t])
        switched += np.einsum("sb,sba,ba->sa", visits, pi[t], switch)
        if t + 1 == mdp.horizon:
            return ratio + float(switched.sum()) / (t + 1)
        ratio += float((switched * mdp.ends).sum()) / (t + 1)
        visits[:, :-1], visits[:, -1] = np.einsum("sa,sat->ta", taken, mdp.P), 0
        switches[:, :-1] = np.einsum("sa,sat->ta", switched, mdp.P)
    return ratio


def oscillation(mdp: MDP, pi: ArrayLike) -> float:
    """The oscillation ratio with a horizon, otherwise the discounted switch rate."""
    return oscillation_ratio(mdp, pi) if mdp.horizon else switch_rate(mdp, pi)
