"""Cases drawn by Hypothesis, the same ones in every run; and slow, independent computations."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia.tabular.checks import random_case


@st.composite
def cases(draw, kind="discounted", states=4, actions=3, gammas=(0.0, 0.5, 0.9)):
    seed = draw(st.integers(0, 2**32 - 1))
    size = draw(st.integers(1, states)), draw(st.integers(2, actions))
    return random_case(seed, kind, *size, draw(st.sampled_from(gammas)))


def over_cases(n, kind="discounted", **sizes):
    """Run the test on `n` cases, derandomised: CI sees what everybody sees."""

    def decorate(test):
        return settings(max_examples=n, deadline=None, derandomize=True)(
            given(case=cases(kind, **sizes))(test)
        )

    return decorate


def augmented(mdp):
    """The MDP over (s, a_prev) built state by state, null action last: P, r and the first states.

    Loops and nothing else, so that it shares no code with what it checks.
    """
    S, A = mdp.states, mdp.actions
    index = {(s, b): s * (A + 1) + b for s in range(S) for b in range(A + 1)}
    P = np.zeros((len(index), A, len(index)))
    r = np.zeros((len(index), A))
    for (s, _), i in index.items():
        for a in range(A):
            r[i, a] = mdp.R[s, a]
            for to in range(S):
                P[i, a, index[to, a]] += mdp.P[s, a, to]
    first = np.zeros(len(index))
    for s in range(S):
        first[index[s, A]] = mdp.rho[s]
    return P, r, first


def trajectories(mdp, pi):
    """Every episode that can happen: (probability, actions, discounted return)."""
    todo = [(p, [], 0.0, s, -1) for s, p in enumerate(mdp.rho) if p]
    pi = mdp.mixed(pi)
    while todo:
        chance, actions, earned, s, b = todo.pop()
        t = len(actions)
        for a in range(mdp.actions):
            p = chance * pi[t, s, b, a]
            if not p:
                continue
            path, total = [*actions, a], earned + mdp.gamma**t * mdp.R[s, a]
            if t + 1 == mdp.horizon:
                yield p, path, total
                continue
            if mdp.ends[s, a]:
                yield p * mdp.ends[s, a], path, total
            todo += [(p * q, path, total, to, a) for to, q in enumerate(mdp.P[s, a]) if q]


def all_inertia(states, actions, levels):
    """Every mu with entries from `levels`."""
    for entries in itertools.product(levels, repeat=states * actions):
        yield np.array(entries, float).reshape(states, actions)
