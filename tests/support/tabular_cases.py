"""Random cases for the tabular tests, the same in every run; and slow, independent computations."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia.tabular import MDP, Case, random_case


@st.composite
def cases(
    draw: st.DrawFn,
    kind: str = "discounted",
    states: int = 4,
    actions: int = 3,
    gammas: tuple[float, ...] = (0.0, 0.5, 0.9),
) -> Case:
    seed = draw(st.integers(0, 2**32 - 1))
    n_states, n_actions = draw(st.integers(1, states)), draw(st.integers(2, actions))
    return random_case(seed, kind, n_states, n_actions, draw(st.sampled_from(gammas)))


def over_cases(n: int, kind: str = "discounted", **sizes: Any) -> Callable[[Any], Any]:
    """Run a test on `n` cases; they are derandomised, so that they are the same everywhere."""

    def decorate(test: Any) -> Any:
        return settings(max_examples=n, deadline=None, derandomize=True)(
            given(case=cases(kind, **sizes))(test)
        )

    return decorate


def augmented(mdp: MDP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Build the MDP over (s, a_prev) state by state: P, R and the first states.

    The null action is the last a_prev. This uses plain loops, so it shares no code with the
    computations that it checks.
    """
    S, A = mdp.states, mdp.actions
    index = {(s, b): s * (A + 1) + b for s in range(S) for b in range(A + 1)}
    P = np.zeros((len(index), A, len(index)))
    R = np.zeros((len(index), A))
    for (s, _), i in index.items():
        for a in range(A):
            R[i, a] = mdp.R[s, a]
            for successor in range(S):
                P[i, a, index[successor, a]] += mdp.P[s, a, successor]
    rho = np.zeros(len(index))
    for s in range(S):
        rho[index[s, A]] = mdp.rho[s]
    return P, R, rho


def trajectories(mdp: MDP, pi: np.ndarray) -> Iterator[tuple[float, list[int], float]]:
    """Yield every possible episode: its probability, its actions and its discounted return."""
    unfinished = [(p, list[int](), 0.0, s, -1) for s, p in enumerate(mdp.rho) if p]
    pi = mdp.check_mixed(pi)
    while unfinished:
        probability, actions, return_so_far, s, a_prev = unfinished.pop()
        t = len(actions)
        for a in range(mdp.actions):
            p = probability * pi[t, s, a_prev, a]
            if not p:
                continue
            path, return_ = [*actions, a], return_so_far + mdp.gamma**t * mdp.R[s, a]
            if t + 1 == mdp.horizon:
                yield p, path, return_
                continue
            if mdp.ends[s, a]:
                yield p * mdp.ends[s, a], path, return_
            unfinished += [
                (p * q, path, return_, successor, a) for successor, q in enumerate(mdp.P[s, a]) if q
            ]


def all_inertia(shape: tuple[int, ...], levels: tuple[float, ...]) -> Iterator[np.ndarray]:
    """Yield every mu of this shape with entries from `levels`."""
    for entries in itertools.product(levels, repeat=math.prod(shape)):
        yield np.array(entries, float).reshape(shape)
