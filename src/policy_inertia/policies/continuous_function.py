"""A function from observations to continuous actions: clipped, and told from other functions."""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError
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


def refuse_other_bounds(name: str, own: Box, actions: Any, env: str) -> None:
    """Check that a policy is used with the bounds that it was made for.

    Args:
        name: What messages call the policy.
        own: The actions that it was made for.
        actions: The env's actions.
        env: What messages call the env.

    Raises:
        InputError: The env has other actions.
    """
    bounds = [(box.low, box.high, box.env_shape) for box in (own, actions) if isinstance(box, Box)]
    if len(bounds) < 2 or bounds[0] != bounds[1]:
        raise InputError(
            f"{name} acts on a {own} and {env} has a {actions}: give the env that it was trained "
            "on, or a policy that was made for these bounds"
        )
