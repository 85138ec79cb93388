"""Exact values and oscillation of cores and mixed policies; nothing is sampled.

A core is `core[s, a]`. A mixed policy is `pi[s, a_prev, a]` with A + 1 previous actions: the last
row, index -1, is the null action before an episode's first, where the mixed policy is the core.
Under a horizon everything may have a leading axis for the time.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP


def mixed(core: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """pi = mu delta(a_prev) + (1 - mu) pi_core, Equation (mixed_policy): (..., S, A + 1, A).

    `mu[..., s, a_prev]` has no entry for the null action: there is nothing to repeat.
    """
    core, mu = np.asarray(core, float), np.asarray(mu, float)
    if not ((mu >= 0) & (mu <= 1)).all():
        raise InputError(f"mu holds {mu.min():g} to {mu.max():g}: it must lie in [0, 1]")
    core, mu = np.broadcast_arrays(core, mu)
    repeat = np.eye(core.shape[-1])
    known = mu[..., None] * repeat + (1 - mu[..., None]) * core[..., None, :]
    return np.concatenate([known, core[..., None, :]], axis=-2)


def alone(core: np.ndarray) -> np.ndarray:
    """The core as a mixed policy: mu = 0 everywhere."""
    return mixed(core, np.zeros_like(core))


def value(pi: np.ndarray, q: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """V = pi^T [Q - alpha log pi], Equations (V(theta)) and (soft_v_calc_for_mixed_policy)."""
    return (pi * q).sum(-1) + alpha * entr(pi).sum(-1)


def core_values(mdp: MDP, core: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """Q_core(s, a), the fixed point of Equation (soft_q_definition) on the states alone."""
    core = mdp.core(core)
    if mdp.horizon is None:
        step = np.einsum("sa,sat->st", core, mdp.P)
        v = np.linalg.solve(np.eye(mdp.states) - mdp.gamma * step, value(core, mdp.R, alpha))
        return mdp.R + mdp.gamma * mdp.P @ v
    q = np.empty(core.shape)
    v = np.zeros(mdp.states)
    for t in reversed(range(mdp.horizon)):
        q[t] = mdp.R + mdp.gamma * mdp.P @ v
        v = value(core[t], q[t], alpha)
    return q


def mixed_values(
    mdp: MDP,
    pi: np.ndarray,
    alpha: float = 0.0,
    reward: np.ndarray | None = None,
    gamma: float | None = None,
) -> np.ndarray:
    """Q(s, a_prev, a) of a mixed policy, on the augmented state (s, a_prev).

    `reward[s, a_prev, a]` instead of R makes it the value of something else, such as `repeats`.
    """
    pi = mdp.mixed(pi)
    gamma = mdp.gamma if gamma is None else gamma
    shape = (mdp.states, mdp.actions + 1, mdp.actions)
    r = np.broadcast_to(mdp.R[:, None, :] if reward is None else reward, shape)
    if mdp.horizon is None:
        v = _solve(mdp, pi, value(pi, r, alpha)[:, :-1], gamma)
        return r + gamma * _next(mdp, v)[:, None, :]
    q = np.empty(pi.shape)
    v = np.zeros((mdp.states, mdp.actions))
    for t in reversed(range(mdp.horizon)):
        q[t] = r + gamma * _next(mdp, v)[:, None, :]
        v = value(pi[t], q[t], alpha)[:, :-1]
    return q


def _next(mdp: MDP, v: np.ndarray) -> np.ndarray:
    """E[V(s', a)] after action a in s: the action just taken is the next state's a_prev."""
    return np.einsum("sat,ta->sa", mdp.P, v, optimize=True)


def _solve(mdp: MDP, pi: np.ndarray, earned: np.ndarray, gamma: float) -> np.ndarray:
    """V(s, a_prev) for all a_prev but the null one, to which no step leads.

    If pi is a mixture, an action is repeated or drawn from the core whatever a_prev was. Then the
    system of S A equations falls into one of S for each action, joined by S more: with
    w_a = P_a V_a and m = sum of core_a w_a, (1 - gamma P_a mu_a) w_a = P_a e_a + gamma P_a
    (1 - mu_a) m. With 5 actions that is a sixth of the work.
    """
    core = pi[:, -1]
    kept = np.diagonal(pi[:, :-1], axis1=1, axis2=2)
    mu = np.divide(kept - core, 1 - core, out=np.zeros_like(core), where=core < 1).clip(0, 1)
    if abs(mixed(core, mu) - pi).max() > _MIXTURE_ERROR:
        return _solve_any(mdp, pi, earned, gamma)
    P, mu_a = mdp.P.transpose(1, 0, 2), mu.T[:, None, :]  # (a, s, s'), (a, 1, s')
    known = np.concatenate([P @ earned.T[..., None], gamma * P * (1 - mu_a)], axis=-1)
    w = np.linalg.solve(np.eye(mdp.states) - gamma * P * mu_a, known)  # constant, and in m
    joined = np.einsum("sa,ast->st", core, w)
    m = np.linalg.solve(np.eye(mdp.states) - joined[:, 1:], joined[:, 0])
    w = (w[..., 0] + w[..., 1:] @ m).T
    return earned + gamma * (mu * w + (1 - mu) * m[:, None])


_MIXTURE_ERROR = 1e-13


def _solve_any(mdp: MDP, pi: np.ndarray, earned: np.ndarray, gamma: float) -> np.ndarray:
    """The same for any policy on (s, a_prev), as one system."""
    n = mdp.states * mdp.actions
    step = pi[:, :-1, None, :] * mdp.P.transpose(0, 2, 1)[:, None]  # (s, a_prev, s', a)
    matrix = np.eye(n) - gamma * step.reshape(n, n)
    return np.linalg.solve(matrix, earned.reshape(n)).reshape(earned.shape)


def at_start(mdp: MDP, v: np.ndarray) -> float:
    """The mean over first states of V(s)."""
    return float(mdp.start @ (v[0] if mdp.horizon else v))


def expected_return(mdp: MDP, pi: np.ndarray, alpha: float = 0.0) -> float:
    """J, Equation (RL-objective), or with `alpha` J_Ent, Equation (MaxEnt_Objective)."""
    pi = mdp.mixed(pi)
    return at_start(mdp, value(pi, mixed_values(mdp, pi, alpha), alpha)[..., -1])


def repeats(actions: int) -> np.ndarray:
    """r_o(a_prev, a) = 1[a = a_prev], the auxiliary reward in the proof of Theorem (smoothness)."""
    return np.vstack([np.eye(actions), np.zeros(actions)])


def switches(actions: int) -> np.ndarray:
    """1[a != a_prev]; an episode's first action is neither a switch nor a repeat."""
    return np.vstack([1 - np.eye(actions), np.zeros(actions)])


def counted_values(mdp: MDP, pi: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Q_o(s, a_prev, a) of `repeats` or `switches`: undiscounted where there is a horizon."""
    return mixed_values(mdp, pi, reward=counted, gamma=1.0 if mdp.horizon else None)


def switch_rate(mdp: MDP, pi: np.ndarray) -> float:
    """Expected switches over the steps that an uninterrupted episode weighs.

    Discounted: (1 - gamma) E[sum of gamma**t 1[a_t != a_{t-1}]]. With a horizon T: E[switches] / T,
    undiscounted, which is the oscillation ratio if all episodes have T steps. It is linear in the
    occupancy measure, as the oscillation ratio is not.
    """
    q = counted_values(mdp, pi, switches(mdp.actions))
    return at_start(mdp, value(mdp.mixed(pi), q)[..., -1]) / mdp.steps


def oscillation_ratio(mdp: MDP, pi: np.ndarray) -> float:
    """xi, Equation (action-oscillation-ratio), as evaluated: E[c / n] with each episode's own n.

    Forward in time over (s, a_prev), with the probability of being there and the expected number
    of switches so far *times* that probability. What ends after t + 1 steps is divided by t + 1,
    so that every length is exact and switches need no axis of their own.
    """
    if mdp.horizon is None:
        raise InputError(
            f"{mdp.name} has no horizon: its episodes have no ratio; ask for the switch rate"
        )
    pi = mdp.mixed(pi)
    here = np.zeros((mdp.states, mdp.actions + 1))
    here[:, -1] = mdp.start
    counted = np.zeros_like(here)
    ratio = 0.0
    for t in range(mdp.horizon):
        taken = np.einsum("sb,sba->sa", here, pi[t])
        added = np.einsum("sb,sba->sa", counted, pi[t])
        added += np.einsum("sb,sba,ba->sa", here, pi[t], switches(mdp.actions))
        if t + 1 == mdp.horizon:
            return ratio + float(added.sum()) / (t + 1)
        ratio += float((added * mdp.stops).sum()) / (t + 1)
        here[:, :-1], here[:, -1] = np.einsum("sa,sat->ta", taken, mdp.P), 0
        counted[:, :-1] = np.einsum("sa,sat->ta", added, mdp.P)
    return ratio


def oscillation(mdp: MDP, pi: np.ndarray) -> float:
    """The oscillation ratio where there is a horizon, else the discounted switch rate."""
    return oscillation_ratio(mdp, pi) if mdp.horizon else switch_rate(mdp, pi)
