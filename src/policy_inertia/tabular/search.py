"""Counterexamples: found by drawing small cases, then made as plain as they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from policy_inertia.tabular.checks import Case
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import core_values

Margin = Callable[[Case], float | None]


def plain_case(
    rng: np.random.Generator,
    states: int,
    actions: int,
    horizon: int | None,
    gamma: float,
    ending: bool,
) -> Case:
    """A case in small numbers: mostly deterministic, few rewards, halves elsewhere."""
    P = np.zeros((states, actions, states))
    ends = np.zeros((states, actions))
    for s, a in product(range(states), range(actions)):
        for _ in range(2):
            if ending and rng.random() < 0.4:
                ends[s, a] += 0.5
            else:
                P[s, a, rng.integers(states)] += 0.5
        if rng.random() < 0.7:
            P[s, a], ends[s, a] = (P[s, a] == P[s, a].max()), 0.0
            P[s, a] /= P[s, a].sum()
            if ending and rng.random() < 0.4:
                P[s, a], ends[s, a] = 0.0, 1.0
    R = rng.choice([-1.0, 0.0, 0.01, 1.0], (states, actions))
    eye = np.eye(actions)
    core = np.array([(eye[rng.integers(actions)] + eye[rng.integers(actions)]) / 2
                     for _ in range(states)])  # fmt: skip
    mu = rng.choice([0.0, 0.5, 1.0], (states, actions))
    rho = np.eye(states)[0]
    return Case(MDP(P, R, gamma, horizon, rho, ends, "case"), core, mu)


def clear_cut(margin: Margin) -> Margin:
    """Only where the inner improvement is greedy without a tie, so that nobody can tell it away."""

    def told(case: Case) -> float | None:
        q = np.sort(core_values(case.mdp, case.core), axis=-1)
        return margin(case) if (q[..., -1] - q[..., -2]).min() > 1e-6 else None

    return told


def counterexample(
    margin: Margin,
    horizons: tuple[int | None, ...] = (None,),
    gamma: float = 0.5,
    ending: bool = False,
    most_states: int = 4,
    actions: tuple[int, ...] = (2,),
    climbs: int = 20,
    steps: int = 150,
    seed: int = 0,
    below: float = 1e-6,
) -> Case | None:
    """A case in which `margin` is negative, looked for from the smallest MDPs up, made plain.

    Each climb begins with a random case and keeps every change that does not raise the margin.
    """
    rng = np.random.default_rng(seed)
    for states, choices, horizon in product(range(1, most_states + 1), actions, horizons):
        drawn = partial(plain_case, rng, states, choices, horizon, gamma, ending)
        for _ in range(climbs):
            case = drawn()
            least = _told(margin, case)
            for _ in range(steps):
                if least < -below:
                    return minimised(margin, case, below)
                other = _crossed(rng, case, drawn())
                reached = _told(margin, other)
                if reached <= least:
                    case, least = other, reached
    return None


def _told(margin: Margin, case: Case) -> float:
    found = margin(case)
    return np.inf if found is None else found


def _crossed(rng: np.random.Generator, case: Case, other: Case) -> Case:
    """The case with one thing of another: what follows an action, a reward, a choice, a mu."""
    s, a = (int(rng.integers(n)) for n in case.mu.shape)
    mdp, at = case.mdp, (s, a)
    match rng.integers(4):
        case 0:
            P, ends = _set(mdp.P, at, other.mdp.P[at]), _set(mdp.stops, at, other.mdp.stops[at])
            return replace(case, mdp=replace(mdp, P=P, ends=ends))
        case 1:
            return replace(case, mdp=replace(mdp, R=_set(mdp.R, at, other.mdp.R[at])))
        case 2:
            return replace(case, core=_set(case.core, s, other.core[s]))
    return replace(case, mu=_set(case.mu, at, other.mu[at]))


def minimised(margin: Margin, case: Case, below: float = 1e-6) -> Case:
    """The same violation with as few states, steps, chances and rewards as it needs."""
    while True:
        plainer = next((c for c in _plainer(case) if _told(margin, c) < -below), None)
        if plainer is None:
            return case
        case = plainer


def _plainer(case: Case) -> Iterator[Case]:
    """Each way to make one thing plainer; none of them can be undone by another."""
    mdp = case.mdp
    if mdp.horizon and mdp.horizon > 1:
        yield replace(case, mdp=replace(mdp, horizon=mdp.horizon - 1))
    for gone in range(1, mdp.states):
        yield from (_without(case, gone, to) for to in range(mdp.states) if to != gone)
    for s, a in product(range(mdp.states), range(mdp.actions)):
        if mdp.R[s, a]:
            yield replace(case, mdp=replace(mdp, R=_set(mdp.R, (s, a), 0.0)))
        if (mdp.P[s, a] > 0).sum() + (mdp.stops[s, a] > 0) > 1:
            for to in np.flatnonzero(mdp.P[s, a]):
                P = _set(mdp.P, (s, a), np.eye(mdp.states)[to])
                yield replace(case, mdp=replace(mdp, P=P, ends=_set(mdp.stops, (s, a), 0.0)))
        if 0 < mdp.stops[s, a] < 1:
            P = _set(mdp.P, (s, a), 0.0)
            yield replace(case, mdp=replace(mdp, P=P, ends=_set(mdp.stops, (s, a), 1.0)))
        if case.mu[s, a]:
            yield replace(case, mu=_set(case.mu, (s, a), 0.0))
        if case.mu[s, a] not in (0.0, 1.0):
            yield replace(case, mu=_set(case.mu, (s, a), 1.0))
    for s in range(mdp.states):
        if case.core[s].max() < 1:
            yield from (
                replace(case, core=_set(case.core, s, np.eye(mdp.actions)[action]))
                for action in np.flatnonzero(case.core[s])
            )
    if mdp.gamma != round(mdp.gamma, 1):
        yield replace(case, mdp=replace(mdp, gamma=round(mdp.gamma, 1)))


def _without(case: Case, gone: int, instead: int) -> Case:
    """The case without a state; what led there leads to another one."""
    mdp = case.mdp
    kept = np.arange(mdp.states) != gone
    P = mdp.P[kept].copy()
    P[..., instead] += P[..., gone]
    rho = mdp.start.copy()
    rho[instead] += rho[gone]
    smaller = replace(mdp, P=P[..., kept], R=mdp.R[kept], ends=mdp.stops[kept], rho=rho[kept])
    return Case(smaller, case.core[kept], case.mu[kept])


def _set(array: np.ndarray, place: Any, value: Any) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array
