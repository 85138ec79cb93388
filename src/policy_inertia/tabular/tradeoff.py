"""The best that any `mu` can do around one core: return against switching, exactly.

Choosing to repeat or to follow the core is an MDP with two actions over (s, a_prev). In its
occupancy measure both return and expected switches are linear, so that every point of the curve is
a linear program, solved by HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import expected_return, mixed, switch_rate


@dataclass(frozen=True)
class Point:
    """One `mu`, evaluated by a linear solve rather than by the program that found it."""

    mu: np.ndarray
    return_: float
    switch_rate: float


@dataclass(frozen=True)
class Curve:
    """The vertices, from smoothest to best; every mixture of neighbours is attainable as well."""

    vertices: list[Point]
    complete: bool  # whether all vertices were found, or only as many as were asked for

    def best_return(self, rate: float) -> float:
        """The largest return of any `mu` with at most this switch rate."""
        rates, returns = self._axes()
        if rate < rates[0]:
            raise InputError(f"a switch rate of {rate:g} is out of reach: the least is {rates[0]}")
        return float(np.interp(rate, rates, returns))

    def least_rate(self, return_: float) -> float:
        """The smallest switch rate of any `mu` with at least this return."""
        rates, returns = self._axes()
        if return_ > returns[-1]:
            raise InputError(f"a return of {return_:g} is out of reach: the best is {returns[-1]}")
        return float(np.interp(return_, returns, rates))

    def _axes(self) -> tuple[list[float], list[float]]:
        return [p.switch_rate for p in self.vertices], [p.return_ for p in self.vertices]


class Program:
    """The linear program of one MDP and core.

    Variables, for each time if there is a horizon: y[a_prev, s] and z[a_prev, s], how often one is
    there and repeats or follows, and f[s], how often one follows at all, the first step included.
    """

    def __init__(self, mdp: MDP, core: np.ndarray) -> None:
        self.mdp, self.core = mdp, mdp.core(core)
        S, A = mdp.states, mdp.actions
        cores = self.core if mdp.horizon else self.core[None]
        self.times = T = len(cores)
        # which time's actions lead to which time's states
        before = sparse.eye_array(T, k=-1) if mdp.horizon else mdp.gamma * sparse.eye_array(1)
        lead = [sparse.csr_array(mdp.P[:, a].T) for a in range(A)]
        repeated = sparse.kron(before, sparse.block_diag(lead))
        followed = sparse.block_diag(
            [sparse.vstack([lead[a] * core_t[:, a] for a in range(A)]) for core_t in cores]
        )
        followed = sparse.kron(before, sparse.eye_array(S * A)) @ followed
        here = sparse.eye_array(T * S * A)
        over_prev = sparse.kron(
            sparse.eye_array(T), sparse.kron(np.ones((1, A)), sparse.eye_array(S))
        )
        self.flow = sparse.block_array(
            [[here - repeated, here, -followed], [None, -over_prev, sparse.eye_array(T * S)]],
            format="csr",
        )
        first = np.zeros((T, S))
        first[0] = mdp.start
        self.inflow = np.concatenate([np.zeros(T * S * A), first.ravel()])
        decay = mdp.gamma ** np.arange(T)[:, None, None]
        self.earned = np.concatenate(
            [
                (decay * mdp.R.T).ravel(),
                np.zeros(T * S * A),
                (decay[..., 0] * (cores * mdp.R).sum(-1)).ravel(),
            ]
        )
        switching = (1 - cores).transpose(0, 2, 1).ravel() / mdp.steps
        self.switched = np.concatenate([np.zeros(T * S * A), switching, np.zeros(T * S)])

    def solve(self, price: float = 0.0, at_most: float | None = None) -> Point:
        """Maximise return - price * switch rate, or the return with a switch rate `at_most`."""
        limit = {} if at_most is None else {"A_ub": self.switched[None], "b_ub": [at_most]}
        found = linprog(
            price * self.switched - self.earned,
            A_eq=self.flow,
            b_eq=self.inflow,
            method="highs-ipm",  # 25 times as fast as the simplex method with 500 states
            **limit,
        )
        if not found.success:
            raise InputError(f"no mu was found for {self.mdp.name}: {found.message}")
        mu = self._mu(found.x)
        return self.point(mu if at_most is not None else mu.round())  # vertices are deterministic

    def _mu(self, x: np.ndarray) -> np.ndarray:
        shape = (self.times, self.mdp.actions, self.mdp.states)
        y, z = np.clip(x[: 2 * np.prod(shape)], 0, None).reshape(2, *shape)
        there = y + z
        mu = np.divide(y, there, out=np.zeros(shape), where=there > 1e-12).transpose(0, 2, 1)
        return mu if self.mdp.horizon else mu[0]

    def point(self, mu: np.ndarray) -> Point:
        """This `mu` as a point of the picture."""
        pi = mixed(self.core, mu)
        return Point(mu, expected_return(self.mdp, pi), switch_rate(self.mdp, pi))


def best(mdp: MDP, core: np.ndarray, rate: float) -> Point:
    """The `mu` with the largest return among all with at most this switch rate."""
    if not rate >= 0:
        raise InputError(f"the switch rate is {rate}: it must be at least 0")
    return Program(mdp, core).solve(at_most=rate)


def tradeoff(mdp: MDP, core: np.ndarray, most: int = 200, tolerance: float = 1e-8) -> Curve:
    """All vertices of the curve, or the `most` that stand out first.

    Between two known points the program is solved with the slope of their chord as the price:
    either something lies above the chord, a new vertex, or the chord is an edge of the curve.
    """
    program = Program(mdp, core)
    frozen = program.point(np.ones_like(program.core))  # the only way not to switch at all
    known = [frozen]
    top = program.solve()
    if top.return_ <= frozen.return_ + tolerance:
        return Curve(known, True)
    known.append(top)
    chords = [(frozen, top)]
    while chords and len(known) < most:
        left, right = chords.pop(0)
        price = (right.return_ - left.return_) / (right.switch_rate - left.switch_rate)
        point = program.solve(price)
        above = (point.return_ - left.return_) - price * (point.switch_rate - left.switch_rate)
        if above > tolerance:
            known.append(point)
            chords += [c for c in ((left, point), (point, right)) if _rises(*c)]
    return Curve(_efficient(known, tolerance), not chords)


def _rises(left: Point, right: Point) -> bool:
    return right.return_ > left.return_ and right.switch_rate > left.switch_rate


def _efficient(points: list[Point], tolerance: float) -> list[Point]:
    """Without the points that another one matches with less switching."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.switch_rate, -p.return_)):
        if not kept or point.return_ > kept[-1].return_ + tolerance:
            kept.append(point)
    return kept
