"""The best trade-off of return against switching that any `mu` reaches around one core, exactly.

Choosing between repeating and following the core is an MDP with two actions over (s, a_prev). The
return and the expected switches are linear in its occupancy measure. So every point of the
trade-off curve is the solution of a linear program, which HiGHS solves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from policy_inertia.errors import InputError
from policy_inertia.tabular.curve import Curve, find_curve
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import expected_return, mixed_policy, switch_rate


@dataclass(frozen=True)
class Point:
    """One `mu` with its return and switch rate, evaluated by a linear solve, not by the program."""

    mu: np.ndarray
    return_: float
    switch_rate: float


class LinearProgram:
    """The linear program of one MDP and core.

    The variables, one set for each time if there is a horizon, are the occupancies y[a_prev, s] of
    repeating, z[a_prev, s] of following the core, and f[s] of following the core after any action
    or at an episode's start.
    """

    def __init__(self, mdp: MDP, core: ArrayLike) -> None:
        self.mdp, self.core = mdp, mdp.check_core(core)
        cores = self.core if mdp.horizon else self.core[None]
        self.times = T = len(cores)
        self.flow = _flow(mdp, cores)
        size = T * mdp.states * mdp.actions
        first = np.zeros((T, mdp.states))
        first[0] = mdp.rho
        self.inflow = np.concatenate([np.zeros(size), first.ravel()])
        decay = mdp.gamma ** np.arange(T)[:, None, None]
        repeat_reward = (decay * mdp.R.T).ravel()
        core_reward = (decay[..., 0] * (cores * mdp.R).sum(-1)).ravel()
        self.reward = np.concatenate([repeat_reward, np.zeros(size), core_reward])
        switches = (1 - cores).transpose(0, 2, 1).ravel() / mdp.effective_horizon
        self.switches = np.concatenate([np.zeros(size), switches, np.zeros(T * mdp.states)])

    def solve(self, price: float = 0.0, max_rate: float | None = None) -> Point:
        """Maximise return - price * switch rate, or the return with a limited switch rate.

        Args:
            price: Price of the switch rate.
            max_rate: Largest switch rate allowed.

        Returns:
            The best `mu`; it is deterministic unless `max_rate` is given.

        Raises:
            InputError: HiGHS finds no solution.
        """
        limit = {} if max_rate is None else {"A_ub": self.switches[None], "b_ub": [max_rate]}
        solution = linprog(
            price * self.switches - self.reward,
            A_eq=self.flow,
            b_eq=self.inflow,
            method="highs-ipm",  # 25 times as fast as the simplex method with 500 states
            **limit,
        )
        if not solution.success:
            raise InputError(f"no mu was found for {self.mdp.name}: {solution.message}")
        mu = self._mu(solution.x)
        return self.point(mu if max_rate is not None else mu.round())  # undo the solver's rounding

    def _mu(self, x: np.ndarray) -> np.ndarray:
        shape = (self.times, self.mdp.actions, self.mdp.states)
        y, z = np.clip(x[: 2 * np.prod(shape)], 0, None).reshape(2, *shape)
        visits = y + z
        mu = np.divide(y, visits, out=np.zeros(shape), where=visits > 1e-12).transpose(0, 2, 1)
        return mu if self.mdp.horizon else mu[0]

    def point(self, mu: np.ndarray) -> Point:
        """Return and switch rate of this `mu`."""
        pi = mixed_policy(self.core, mu)
        return Point(mu, expected_return(self.mdp, pi), switch_rate(self.mdp, pi))


def _flow(mdp: MDP, cores: np.ndarray) -> sparse.csr_array:
    """The flow constraints: the occupancy of (s, a_prev) comes from the steps that lead there."""
    S, A, T = mdp.states, mdp.actions, len(cores)
    # from which time's actions to which time's states
    step = sparse.eye_array(T, k=-1) if mdp.horizon else mdp.gamma * sparse.eye_array(1)
    transitions = [sparse.csr_array(mdp.P[:, a].T) for a in range(A)]
    repeated = sparse.kron(step, sparse.block_diag(transitions))
    followed = sparse.block_diag(
        [sparse.vstack([transitions[a] * core[:, a] for a in range(A)]) for core in cores]
    )
    followed = sparse.kron(step, sparse.eye_array(S * A)) @ followed
    stay = sparse.eye_array(T * S * A)
    over_prev = sparse.kron(sparse.eye_array(T), sparse.kron(np.ones((1, A)), sparse.eye_array(S)))
    return sparse.block_array(
        [[stay - repeated, stay, -followed], [None, -over_prev, sparse.eye_array(T * S)]],
        format="csr",
    )


def best_mu(mdp: MDP, core: ArrayLike, rate: float) -> Point:
    """The `mu` with the largest return among all with at most this switch rate."""
    if not rate >= 0:
        raise InputError(f"the switch rate is {rate}: it must be at least 0")
    return LinearProgram(mdp, core).solve(max_rate=rate)


def tradeoff(
    mdp: MDP, core: ArrayLike, max_vertices: int = 200, tolerance: float = 1e-8
) -> Curve[Point]:
    """Compute the trade-off curve of all `mu` around a core.

    Args:
        mdp: The MDP.
        core: Core policy.
        max_vertices: Stop after this many vertices.
        tolerance: Height above a chord that counts as rounding.

    Returns:
        The vertices of the curve.
    """
    program = LinearProgram(mdp, core)
    never_switch = program.point(np.ones_like(program.core))
    return find_curve(program.solve, never_switch, max_vertices, tolerance)
