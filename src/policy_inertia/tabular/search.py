"""A search for counterexamples: draw small cases, descend the margin, simplify what fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from policy_inertia.tabular.cases import Case
from policy_inertia.tabular.margins import Margin
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import core_values


def simple_case(
    rng: np.random.Generator,
    states: int,
    actions: int,
    horizon: int | None,
    gamma: float,
    ending: bool,
) -> Case:
    """Draw a case with simple numbers: probabilities 0, 1/2 or 1, and few different rewards.

    Args:
        rng: Generator.
        states: Number of states.
        actions: Number of actions.
        horizon: Largest number of steps of an episode.
        gamma: Discount factor.
        ending: Whether actions may end the episode.

    Returns:
        The case; its episodes start in state 0.
    """
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


def without_ties(margin: Margin) -> Margin:
    """Skip cases with ties in Q_core, so that no counterexample depends on tie-breaking."""

    def untied(case: Case) -> float | None:
        q = np.sort(core_values(case.mdp, case.core), axis=-1)
        return margin(case) if (q[..., -1] - q[..., -2]).min() > 1e-6 else None

    return untied


def counterexample(
    margin: Margin,
    horizons: tuple[int | None, ...] = (None,),
    gamma: float = 0.5,
    ending: bool = False,
    max_states: int = 4,
    actions: tuple[int, ...] = (2,),
    descents: int = 20,
    steps: int = 150,
    seed: int = 0,
    below: float = 1e-6,
) -> Case | None:
    """Search for a case with a negative margin, from the smallest MDPs up.

    Each descent starts with a random case and accepts every change that does not raise the margin.

    Args:
        margin: The margin of the statement to refute.
        horizons: Horizons to try.
        gamma: Discount factor.
        ending: Whether actions may end the episode.
        max_states: Largest number of states to try.
        actions: Numbers of actions to try.
        descents: Descents for each size.
        steps: Changes tried in each descent.
        seed: Seed of the search.
        below: Violation that counts as a failure.

    Returns:
        A simplified counterexample (see `minimise`), or None if the search found none.
    """
    rng = np.random.default_rng(seed)
    for states, choices, horizon in product(range(1, max_states + 1), actions, horizons):
        draw = partial(simple_case, rng, states, choices, horizon, gamma, ending)
        for _ in range(descents):
            case = draw()
            least = _margin_or_inf(margin, case)
            for _ in range(steps):
                if least < -below:
                    return minimise(margin, case, below)
                candidate = _mutate(rng, case, draw())
                reached = _margin_or_inf(margin, candidate)
                if reached <= least:
                    case, least = candidate, reached
    return None


def _margin_or_inf(margin: Margin, case: Case) -> float:
    value = margin(case)
    return np.inf if value is None else value


def _mutate(rng: np.random.Generator, case: Case, other: Case) -> Case:
    """The case with one part of another: an outcome, a reward, a row of the core, or a mu."""
    s, a = (int(rng.integers(n)) for n in case.mu.shape)
    mdp, at = case.mdp, (s, a)
    match rng.integers(4):
        case 0:
            P, ends = _set(mdp.P, at, other.mdp.P[at]), _set(mdp.ends, at, other.mdp.ends[at])
            return replace(case, mdp=replace(mdp, P=P, ends=ends))
        case 1:
            return replace(case, mdp=replace(mdp, R=_set(mdp.R, at, other.mdp.R[at])))
        case 2:
            return replace(case, core=_set(case.core, s, other.core[s]))
    return replace(case, mu=_set(case.mu, at, other.mu[at]))


def minimise(margin: Margin, case: Case, below: float = 1e-6) -> Case:
    """Simplify a counterexample as long as the margin stays negative.

    Args:
        margin: The margin of the refuted statement.
        case: A counterexample.
        below: Violation that must remain.

    Returns:
        A counterexample that no single simplification leaves standing; `case` itself if it is one.
    """
    while True:
        simpler = (c for c in _simplifications(case) if _margin_or_inf(margin, c) < -below)
        smaller = next(simpler, None)
        if smaller is None:
            return case
        case = smaller


def _simplifications(case: Case) -> Iterator[Case]:
    """Every way to make one part simpler; none can undo another, so `minimise` ends."""
    mdp = case.mdp
    if mdp.horizon and mdp.horizon > 1:
        yield replace(case, mdp=replace(mdp, horizon=mdp.horizon - 1))
    for removed in range(1, mdp.states):
        yield from (_merge(case, removed, s) for s in range(mdp.states) if s != removed)
    for s, a in product(range(mdp.states), range(mdp.actions)):
        yield from _simpler_at(case, s, a)
    for s in range(mdp.states):
        if case.core[s].max() < 1:
            yield from (
                replace(case, core=_set(case.core, s, np.eye(mdp.actions)[action]))
                for action in np.flatnonzero(case.core[s])
            )
    if mdp.gamma != round(mdp.gamma, 1):
        yield replace(case, mdp=replace(mdp, gamma=round(mdp.gamma, 1)))


def _simpler_at(case: Case, s: int, a: int) -> Iterator[Case]:
    """Simpler rewards, outcomes and mu at one state and action."""
    mdp = case.mdp
    if mdp.R[s, a]:
        yield replace(case, mdp=replace(mdp, R=_set(mdp.R, (s, a), 0.0)))
    if (mdp.P[s, a] > 0).sum() + (mdp.ends[s, a] > 0) > 1:
        for successor in np.flatnonzero(mdp.P[s, a]):
            P = _set(mdp.P, (s, a), np.eye(mdp.states)[successor])
            yield replace(case, mdp=replace(mdp, P=P, ends=_set(mdp.ends, (s, a), 0.0)))
    if 0 < mdp.ends[s, a] < 1:
        P = _set(mdp.P, (s, a), 0.0)
        yield replace(case, mdp=replace(mdp, P=P, ends=_set(mdp.ends, (s, a), 1.0)))
    if case.mu[s, a]:
        yield replace(case, mu=_set(case.mu, (s, a), 0.0))
    if case.mu[s, a] not in (0.0, 1.0):
        yield replace(case, mu=_set(case.mu, (s, a), 1.0))


def _merge(case: Case, removed: int, into: int) -> Case:
    """The case without one state; transitions to it lead to another state instead."""
    mdp = case.mdp
    rest = np.arange(mdp.states) != removed
    P = mdp.P[rest].copy()
    P[..., into] += P[..., removed]
    rho = mdp.rho.copy()
    rho[into] += rho[removed]
    smaller = replace(mdp, P=P[..., rest], R=mdp.R[rest], ends=mdp.ends[rest], rho=rho[rest])
    return Case(smaller, case.core[rest], case.mu[rest])


def _set(array: np.ndarray, index: Any, value: Any) -> np.ndarray:
    array = array.copy()
    array[index] = value
    return array
