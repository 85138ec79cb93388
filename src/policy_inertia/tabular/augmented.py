"""The MDP over (s, a_prev, tokens): a limit on switching as part of the state, solved exactly.

A policy is an array of actions `action[s, a_prev, level]`, (S, A + 1, K), with a leading time axis
if the MDP has a horizon. The last a_prev is the null action before an episode's first action, which
is free. The levels are those of a `TokenBucket`; the last one is full.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from policy_inertia.tabular.exact_bucket import TokenBucket
from policy_inertia.tabular.mdp import MDP

_TIE = 1e-11  # a gain below this share of the largest value is a tie
_SWEEPS = 15  # of value iteration before policy iteration starts
_ROUNDS = 1_000  # of policy iteration at most; it needs about five


class AugmentedMDP:
    """An MDP with a token bucket. Flat indices run over (s, a, level), without the null action."""

    def __init__(self, mdp: MDP, bucket: TokenBucket) -> None:
        self.mdp, self.bucket = mdp, bucket
        S, A, K = mdp.states, mdp.actions, len(bucket.levels)
        self.shape = (S, A + 1, K)
        self.full_shape = (mdp.horizon, *self.shape) if mdp.horizon else self.shape
        self.prev = np.arange(A + 1)[:, None]
        # With a horizon, `rewards` holds the discount, because switches are not discounted.
        self.discount = 1.0 if mdp.horizon else mdp.gamma
        decay = mdp.gamma ** np.arange(mdp.horizon or 1)
        rewards = decay[:, None, None] * mdp.R
        self.rewards = rewards if mdp.horizon else rewards[0]  # (S, A) or (T, S, A)
        # after an action, (s, a, level) leads to (s', a, level)
        s, a, successor = mdp.P.nonzero()
        levels = np.arange(K)
        before, after = (((x * A + a)[:, None] * K + levels).ravel() for x in (s, successor))
        chances = np.repeat(mdp.P[s, a, successor], K)
        self.move = sparse.csr_array((chances, (before, after)), shape=(S * A * K, S * A * K))

    def switches(self, action: np.ndarray) -> np.ndarray:
        """Whether the policy switches in each (s, a_prev, level); the first action is no switch."""
        return (action != self.prev) & (self.prev < self.mdp.actions)

    def reward(self, action: np.ndarray) -> np.ndarray:
        """The policy's reward in each (s, a_prev, level)."""
        return np.take_along_axis(self.rewards[..., None], action, -2)

    def expected(
        self, action: np.ndarray, counted: np.ndarray, goes_on: np.ndarray | None = None
    ) -> np.ndarray:
        """Expected sums over an episode.

        Args:
            action: The policy's actions.
            counted: What each sum counts in each (s, a_prev, level), with a last axis for the sums.
            goes_on: 0 where counting stops after this step, otherwise 1. Default: 1 everywhere.

        Returns:
            The sums, discounted only without a horizon.
        """
        goes_on = np.ones(action.shape) if goes_on is None else goes_on
        if self.mdp.horizon is None:
            v = self._values(action, counted, goes_on)
        else:
            v = np.zeros((*self.shape, counted.shape[-1]))
            for t in reversed(range(self.mdp.horizon)):
                v = counted[t] + goes_on[t][..., None] * self._next(v, action[t])
        return self.mdp.rho @ v[:, -1, -1]

    def oscillation_ratio(self, action: np.ndarray) -> float:
        """E[c / n] over episodes of any length up to the horizon, as `values.oscillation_ratio`."""
        assert self.mdp.horizon
        start = np.zeros(self.shape)
        start[:, -1, -1] = self.mdp.rho
        visits = np.stack(
            [start, np.zeros(self.shape)]
        )  # and the expected switches so far, times it
        ratio = 0.0
        for t, now in enumerate(action):
            visits[1] += visits[0] * self.switches(now)
            chosen = self._chosen(now).ravel()
            taken = np.stack([np.bincount(chosen, x.ravel(), self.move.shape[0]) for x in visits])
            if t + 1 == self.mdp.horizon:
                ratio += float(taken[1].sum()) / (t + 1)
                break
            S, B, K = self.shape
            ends = np.repeat(self.mdp.ends.ravel(), K)
            ratio += float(taken[1] @ ends) / (t + 1)
            visits = np.zeros((2, *self.shape))
            visits[:, :, :-1] = (taken @ self.move).reshape(2, S, B - 1, K)
        return ratio

    def solve(self, charge: float = 0.0) -> np.ndarray:
        """Find the best policy if a switch costs `charge`.

        With a horizon this is backward induction. Without one it is policy iteration, which ends
        when no action can be improved. Where actions are equally good, a_prev is repeated.

        Args:
            charge: Cost of a switch.

        Returns:
            The policy's actions.
        """
        return self._induction(charge) if self.mdp.horizon else self._iteration(charge)

    def _iteration(self, charge: float) -> np.ndarray:
        action, v = self._greedy(self.rewards, np.zeros(self.shape), charge)
        for _ in range(_SWEEPS):
            action, v = self._greedy(self.rewards, v, charge)
        for _ in range(_ROUNDS):
            counted = self.reward(action) - charge * self.switches(action)
            v = self._values(action, counted[..., None], np.ones(self.shape))[..., 0]
            better, best = self._greedy(self.rewards, v, charge)
            gains = best > v + _TIE * abs(v).max()
            if not gains.any():
                return better  # as good as `action`, and repeats a_prev in a tie
            action = np.where(gains, better, action)
        return action

    def _induction(self, charge: float) -> np.ndarray:
        v = np.zeros(self.shape)
        actions = []
        for reward in self.rewards[::-1]:
            action, v = self._greedy(reward, v, charge)
            actions.append(action)
        return np.stack(actions[::-1])

    def _greedy(
        self, reward: np.ndarray, v: np.ndarray, charge: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best actions before values `v`, and what they are worth; a tie repeats a_prev."""
        w = reward[..., None] + self.discount * self._after(v[..., None])[..., 0]  # (s, a, level)
        free, paid = w[..., self.bucket.after_repeat], w[..., self.bucket.after_switch] - charge
        paid[..., ~self.bucket.can_switch] = -np.inf
        same = np.eye(self.mdp.actions, dtype=bool)[..., None]
        others = np.where(same, -np.inf, paid[:, None])  # (s, a_prev, a, level)
        other, value = others.argmax(2), others.max(2)
        action = np.where(value > free + _TIE * abs(w).max(), other, self.prev[:-1])
        first, first_value = free.argmax(1)[:, None], free.max(1)[:, None]
        best = np.concatenate([np.maximum(value, free), first_value], axis=1)
        return np.concatenate([action, first], axis=1), best

    def _values(self, action: np.ndarray, counted: np.ndarray, goes_on: np.ndarray) -> np.ndarray:
        """The sums from each (s, a_prev, level) on, by one sparse linear solve; no horizon."""
        rows = self._chosen(action)[:, :-1].ravel()
        step = self.move[rows].multiply(self.discount * goes_on[:, :-1].reshape(-1, 1))
        matrix = sparse.eye_array(len(rows), format="csc") - step.tocsc()
        right_side = counted[:, :-1]
        v = np.zeros(counted.shape)
        v[:, :-1] = splu(matrix).solve(right_side.reshape(len(rows), -1)).reshape(right_side.shape)
        return counted + goes_on[..., None] * self._next(v, action)

    def _next(self, v: np.ndarray, action: np.ndarray) -> np.ndarray:
        """The discounted sums after the action in each (s, a_prev, level)."""
        return self.discount * self._after(v).reshape(-1, v.shape[-1])[self._chosen(action)]

    def _after(self, v: np.ndarray) -> np.ndarray:
        """E[V(s', a, level)], (S, A, K, sums): `level` is the one after the action."""
        S, _, K = self.shape
        return (self.move @ v[:, :-1].reshape(-1, v.shape[-1])).reshape(S, -1, K, v.shape[-1])

    def _chosen(self, action: np.ndarray) -> np.ndarray:
        """Flat index of (s, a, level after the action) for each (s, a_prev, level)."""
        S, _, K = self.shape
        level = np.where(self.switches(action), self.bucket.after_switch, self.bucket.after_repeat)
        return (np.arange(S)[:, None, None] * self.mdp.actions + action) * K + level
