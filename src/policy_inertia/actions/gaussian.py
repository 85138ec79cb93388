"""Distributions over continuous actions, from -1 to 1 in every number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policy_inertia.actions.space import select
from policy_inertia.types import Array


class SquashedGaussian(NamedTuple):
    """tanh of a Gaussian with independent numbers: the policy of SAC on Box actions."""

    mean: Array
    """(B, d), before the tanh."""
    log_std: Array
    """(B, d) logarithms of the standard deviations, before the tanh."""

    def mode(self) -> np.ndarray:
        return np.tanh(self.mean)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal(self.mean.shape)
        # float32 is what replay and checkpoints hold: a restored episode takes the same actions
        return np.tanh(self.mean + np.exp(self.log_std) * noise).astype(np.float32)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        """0: a density gives no single action a probability."""
        return np.zeros(len(actions), np.float32)


class NoisyPoint(NamedTuple):
    """A certain action with Gaussian noise, clipped to the bounds: how TD3 explores."""

    actions: Array
    """(B, d)"""
    noise: float
    """Standard deviation, in halves of the range."""

    def mode(self) -> np.ndarray:
        return np.asarray(self.actions)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        noise = self.noise * rng.standard_normal(self.actions.shape)
        return np.clip(self.actions + noise, -1, 1).astype(np.float32)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        """0: a density gives no single action a probability."""
        return np.zeros(len(actions), np.float32)


class Mixture(NamedTuple):
    """mu delta(a_prev) + (1 - mu) core: the paper's inertia, for all numbers at once or for each.

    At an episode's start mu is 0.
    """

    mu: Array
    """(B, 1): repeat the whole action; or (B, d): each number for itself."""
    prev_action: np.ndarray
    """(B, d); NaN at an episode's start."""
    core: Any

    def mode(self) -> np.ndarray:
        """Repeat where that is more probable than not, else the core's mode."""
        return np.where(np.asarray(self.mu) > 0.5, self.prev_action, self.core.mode())

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        action = self.core.sample(rng)
        repeat = rng.random(self.mu.shape) < self.mu
        return np.where(repeat, self.prev_action, action).astype(np.float32)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        """The probability of repeating, where the action is the previous one."""
        same: Any = np.asarray(actions == self.prev_action)
        if self.mu.shape[-1] == 1:
            same = same.all(-1, keepdims=True)
        return np.asarray(self.mu * same).prod(-1).astype(np.float32)


class Either(NamedTuple):
    """One distribution in the rows of a mask, and another one elsewhere."""

    mask: np.ndarray
    """(B,) booleans: where `first` acts."""
    first: Any
    second: Any

    def mode(self) -> np.ndarray:
        return select(self.mask, self.first.mode(), self.second.mode())

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        rows = select(self.mask, self.first.sample(rng), self.second.sample(rng))
        return rows.astype(np.float32)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        pair = (part.probability(actions) for part in (self.first, self.second))
        return np.where(self.mask, *pair)
