"""Random cases for the tabular tests, the same in every run; and slow, independent computations."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia.tabular import MDP, Case, random_case

TokenState = tuple[int, int | None, Fraction]  # state, a_prev, tokens


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


class TokenMDP:
    """The MDP over (s, a_prev, tokens) with tokens as fractions, in plain loops.

    It shares no code with `AugmentedMDP`, which it checks. a_prev is None before the first action.
    """

    def __init__(self, mdp: MDP, rate: Fraction, burst: Fraction) -> None:
        self.mdp, self.rate, self.burst = mdp, rate, burst
        waiting: list[TokenState] = [(s, None, burst) for s in range(mdp.states)]
        self.states: list[TokenState] = []
        while waiting:
            state = waiting.pop()
            if state not in self.states:
                self.states.append(state)
                for a in self.actions(state):
                    waiting += [(s, a, self.tokens(state, a)) for s in range(mdp.states)]

    def actions(self, state: TokenState) -> list[int]:
        """The actions that the limit allows."""
        _, prev, tokens = state
        every = list(range(self.mdp.actions))
        return every if prev is None or tokens >= 1 else [prev]

    def tokens(self, state: TokenState, action: int) -> Fraction:
        """The tokens after this action."""
        _, prev, tokens = state
        cost = 0 if prev is None or action == prev else 1
        return min(self.burst, tokens - cost + self.rate)

    def policies(self) -> Iterator[dict[TokenState, int]]:
        """Every deterministic policy."""
        choices = [self.actions(state) for state in self.states]
        for chosen in itertools.product(*choices):
            yield dict(zip(self.states, chosen, strict=True))

    def evaluate(self, policy: dict[TokenState, int]) -> tuple[float, float]:
        """Return and discounted switches of a policy, by one dense linear solve; no horizon."""
        index = {state: i for i, state in enumerate(self.states)}
        P, counted = np.zeros((len(index), len(index))), np.zeros((len(index), 2))
        for state, i in index.items():
            s, prev, _ = state
            a = policy[state]
            counted[i] = self.mdp.R[s, a], prev is not None and a != prev
            for successor in range(self.mdp.states):
                P[i, index[successor, a, self.tokens(state, a)]] += self.mdp.P[s, a, successor]
        v = np.linalg.solve(np.eye(len(index)) - self.mdp.gamma * P, counted)
        starts = [v[index[s, None, self.burst]] for s in range(self.mdp.states)]
        return_, switches = self.mdp.rho @ np.array(starts)
        return float(return_), float(switches)

    def value_iteration(self, sweeps: int) -> float:
        """The largest return, by value iteration over dense arrays; no horizon."""
        index = {state: i for i, state in enumerate(self.states)}
        R = np.full((len(index), self.mdp.actions), -np.inf)  # impossible unless it is allowed
        P = np.zeros((*R.shape, len(index)))
        for state, i in index.items():
            for a in self.actions(state):
                R[i, a] = self.mdp.R[state[0], a]
                for successor in range(self.mdp.states):
                    j = index[successor, a, self.tokens(state, a)]
                    P[i, a, j] += self.mdp.P[state[0], a, successor]
        v = np.zeros(len(index))
        for _ in range(sweeps):
            v = (R + self.mdp.gamma * P @ v).max(1)
        starts = [index[s, None, self.burst] for s in range(self.mdp.states)]
        return float(self.mdp.rho @ v[starts])

    def best_return(self, state: TokenState, t: int = 0) -> float:
        """The largest return from time t on, discounted from time 0, by recursion; horizon only."""
        assert self.mdp.horizon
        if t == self.mdp.horizon:
            return 0.0
        s = state[0]
        returns = []
        for a in self.actions(state):
            tokens = self.tokens(state, a)
            later = (
                p * self.best_return((successor, a, tokens), t + 1)
                for successor, p in enumerate(self.mdp.P[s, a])
                if p
            )
            returns.append(self.mdp.gamma**t * self.mdp.R[s, a] + sum(later))
        return max(returns)
