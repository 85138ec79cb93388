"""Measure the scale of an env's observations with random actions, once before training."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.masks import sample_allowed
from policy_inertia.envs.making import EnvLike
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import Envs
from policy_inertia.seeds import Stream, stream_seed

ENVS, STEPS = 8, 250
FEATURE_STEPS = 64  # where a core's network is run at every step
USUAL = (0.05, 20.0)
"""A number that varies by at least the first and is not larger than the second stays as it is: a
network can use it, and random actions may show only a part of its range."""
SMALLEST = 0.25
"""The smallest deviation of a number that is scaled, as a share of its range: random actions may
show only a small part of it, and a policy will use it all."""
UNBOUNDED = 1e-3
"""The same where a number has no bounds."""


def scaled_spaces(
    env: EnvLike, seed: int, kwargs: dict[str, Any] | None = None, spaces: Spaces | None = None
) -> Spaces:
    """Return an env's spaces with the scale of its observations under random actions.

    Only numbers of an unusual size are scaled. Pixels and Discrete observations need no scale.

    Args:
        env: A Gymnasium id, or a function that makes an env.
        seed: The run's seed.
        kwargs: The env's own arguments.
        spaces: The env's spaces, where something is added to its observations.
    """
    features = spaces.features if spaces is not None else 0
    given = spaces if features else None  # these are seen instead of the observations
    envs = Envs(env, ENVS, lambda i, k: stream_seed(seed, Stream.SCALING, i, k), kwargs, given)
    try:
        own = envs.spaces
        if not features and (own.n_states is not None or own.pixels):
            return spaces or own
        rng = np.random.default_rng(stream_seed(seed, Stream.SCALING))
        count = FEATURE_STEPS if features else STEPS
        masked = spaces is not None and spaces.masked

        def actions() -> np.ndarray:
            if masked:
                return sample_allowed(rng, envs.masks(), own.actions)
            return own.actions.sample(rng, ENVS)

        steps = (envs.step(actions()) for _ in range(count))
        rows = np.concatenate([envs.obs.copy(), *(step.next_obs.copy() for step in steps)])
        rows = rows.astype(np.float64)
        space = envs.vector.single_observation_space
        floor = np.full(features, UNBOUNDED) if features else _smallest_deviation(space)
    finally:
        envs.close()
    seen = rows[:, : features or None]
    center, deviation = seen.mean(0), seen.std(0)
    usual = (deviation >= USUAL[0]) & (np.abs(center) + deviation <= USUAL[1])
    center = np.where(usual, 0.0, center)
    deviation = np.where(usual, 1.0, np.maximum(deviation, floor))
    # float32 is what observations are: a file then holds the very numbers that are used
    rounded = (np.asarray(x, np.float32).tolist() for x in (center, deviation))
    spaces, scaling = (spaces or own).measured(rows), Scaling(*map(tuple, rounded))
    return spaces.with_scaling(scaling)


def _smallest_deviation(space: gym.Space[Any]) -> np.ndarray:
    assert isinstance(space, gym.spaces.Box)
    low, high = (np.asarray(bound, np.float64).ravel() for bound in (space.low, space.high))
    bounded = np.isfinite(low) & np.isfinite(high) & (high - low < 1e6) & (high > low)
    width = np.where(bounded, high, 1.0) - np.where(bounded, low, 0.0)
    return np.where(bounded, SMALLEST, UNBOUNDED) * width
