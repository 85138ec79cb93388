"""Distributions over continuous actions, from -1 to 1 in every number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
