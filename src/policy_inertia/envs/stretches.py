"""Every part of a held stretch as a transition: what TempoRL learns from."""

from __future__ import annotations

import bisect

import numpy as np

from policy_inertia.actions.space import ActionSpace
from policy_inertia.envs.decisions import Decisions
from policy_inertia.types import Transition


class Stretches(Decisions):
    """Turns the primitive steps of N envs into all skips inside each stretch of a held action.

    A skip from any step of a stretch to any later one is a transition, where its length is in
    `repeats` (Biedenkapp et al., 2021, Figure 2). A skip that the episode's end cuts short counts
    as the shortest one in `repeats` that covers it.
    """

    def __init__(
        self,
        obs: np.ndarray,
        actions: ActionSpace,
        gamma: float,
        repeats: tuple[int, ...] = (1,),
        penalty: float = 0.0,
    ) -> None:
        super().__init__(obs, actions, gamma, repeats, penalty)
        most, n = max(repeats), len(obs)
        # the first axis is the age: row k started k steps ago
        self.starts = np.zeros((most, *obs.shape), obs.dtype)
        self.sums = np.zeros((most, n))
        self.discounts = np.ones((most, n))
        self.running = np.zeros((most, n), bool)
        self.complete = np.zeros((most, n), bool)  # which skips the last step ended
        lengths = sorted(repeats)
        self._whole = [length in repeats for length in range(1, most + 1)]
        self._covering = [
            repeats.index(lengths[bisect.bisect_left(lengths, length)])
            for length in range(1, most + 1)
        ]

    @property
    def owners(self) -> np.ndarray:
        return np.nonzero(self.complete.T)[0]

    def begin(self, choice: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """Start a skip at this step in every env; a new decision ends the skips of the last one."""
        self.running[:, self.remaining == 0] = False
        for rows in (self.starts, self.sums, self.discounts, self.running):
            rows[1:] = rows[:-1]
        self.starts[0], self.sums[0], self.discounts[0], self.running[0] = obs, 0, 1, True
        return super().begin(choice, obs)

    def end(
        self,
        action: np.ndarray,
        next_obs: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> Transition:
        """Add one primitive step; return every skip that ends with it, env by env."""
        self.sums += self.discounts * self.charged(action, reward)
        self.discounts *= self.gamma
        whole = np.array(self._whole)[:, None]
        self.complete = self.running & (whole | terminated | truncated)
        envs, ages = np.nonzero(self.complete.T)
        first = ages == (self.running.sum(0) - 1)[envs]
        skips = Transition(
            obs=self.starts[ages, envs],
            prev_action=np.where(first, self.prev_choice[envs], self.choice[envs]),
            action=action[envs] * len(self.repeats) + np.array(self._covering)[ages],
            reward=self.sums[ages, envs],
            discount=(self.discounts * ~terminated)[ages, envs],
            next_obs=next_obs[envs],
        )
        super().end(action, next_obs, reward, terminated, truncated)
        return skips
