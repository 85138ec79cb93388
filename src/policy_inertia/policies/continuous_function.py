"""A function from observations to continuous actions: clipped, and told from other functions."""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.policies.probing import OutputFunction, example_observations

EXAMPLES = 256
"""Observations at which two functions are compared."""
LEVELS = (-0.51, 0.013, 0.49)
"""A digest tells actions between these levels from each other. No policy prefers such numbers, so
rounding does not change a digest."""


def clipped(function: OutputFunction, actions: Any, obs: np.ndarray) -> np.ndarray:
    """The function's actions, clipped to their bounds; what is no action is left to `Box.read`."""
    values = np.asarray(function(obs))
    if values.size != len(obs) * len(actions.low) or values.dtype.kind not in "biuf":
        return values
    return np.clip(values.reshape(len(obs), -1), actions.low, actions.high)


def digest(function: OutputFunction, actions: Box, space: gym.Space[Any]) -> str:
    """A hash of the function's actions at a few observations, whether or not they are allowed."""
    with np.errstate(all="ignore"):
        values = np.asarray(function(example_observations(space, EXAMPLES)))
    scaled = (values.reshape(EXAMPLES, -1) - actions.middle) / actions.half_range
    return hashlib.sha256(np.digitize(scaled, LEVELS).astype(np.uint8).tobytes()).hexdigest()[:16]
