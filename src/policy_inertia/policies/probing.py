"""Questions put to a core, and whether its answers are what they must be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import make_vector, name_of
from policy_inertia.errors import InputError
from policy_inertia.interop.description import Kind

Ask = Callable[[np.ndarray], Any]


def spaces_of(env: Any, kwargs: dict[str, Any] | None = None) -> tuple[gym.Space, Spaces]:
    """The observation space of one env, and as much of both spaces as a policy must know."""
    if isinstance(env, str | type) or not hasattr(env, "action_space"):
        vector, spaces = make_vector(env, 1, kwargs)
        vector.close()
        return vector.single_observation_space, spaces
    one = "single_" if hasattr(env, "single_action_space") else ""
    observation = getattr(env, f"{one}observation_space")
    action = getattr(env, f"{one}action_space")
    return observation, Spaces.of(observation, action, name_of(type(env)))


def space_of(spaces: Spaces) -> gym.Space:
    """A Gymnasium space for observations of which no more is known."""
    if spaces.n_states is not None:
        return gym.spaces.Discrete(spaces.n_states, start=spaces.first_state)
    if spaces.pixels:
        return gym.spaces.Box(0, 255, spaces.obs_shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, spaces.obs_shape, np.float32)


def examples(space: gym.Space, n: int, seed: int = 0) -> np.ndarray:
    """`n` observations to try a policy with: standard normal within the bounds where real."""
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype, np.floating):
        values = np.random.default_rng(seed).normal(0, 1, (n, *space.shape))
        return np.clip(values, space.low, space.high).astype(space.dtype)
    space = copy.deepcopy(space)  # the env's own generator is left as it is
    space.seed(seed)
    return np.array([space.sample() for _ in range(n)])


def checked(values: Any, kind: Kind, n: int, spaces: Spaces, name: str) -> np.ndarray:
    """What a core gave for `n` observations, as it must be, or one sentence about what it is."""
    values = np.asarray(values)
    if kind == "action":
        if values.size != n:
            raise InputError(
                f"{name} gave actions of shape {values.shape} for {n} observations: expected ({n},)"
            )
        refuse_nan(values, name)
        actions = values.reshape(n).astype(np.int64) - spaces.first_action
        if (actions < 0).any() or (actions >= spaces.n_actions).any():
            last = spaces.first_action + spaces.n_actions - 1
            raise InputError(
                f"{name} gave an action from {values.min()} to {values.max()}: this env has "
                f"{spaces.first_action} to {last}, so the action spaces differ"
            )
        return actions
    if values.shape != (n, spaces.n_actions):
        raise InputError(
            f"{name} gave shape {values.shape} for {n} observations: expected {kind} of shape "
            f"({n}, {spaces.n_actions}), one for each action of this env"
        )
    values = values.astype(np.float32)
    refuse_nan(values, name)
    if kind == "probabilities":
        totals = values.sum(1)
        if (values < 0).any() or (abs(totals - 1) > 1e-3).any():
            worst = totals[abs(totals - 1).argmax()]
            raise InputError(
                f"{name} gave probabilities that sum to {worst:.4g} or are negative: expected "
                "rows that sum to 1, so say output='logits' or 'q' if that is what they are"
            )
    return values


def guess(values: np.ndarray, spaces: Spaces, name: str) -> Kind:
    """What a core's answer to a few observations must be, or the question if there are two."""
    n = len(values)
    flat = values.size == n and (values.ndim == 1 or spaces.n_actions > 1)
    if flat:
        refuse_nan(values, name)
        if (values == np.round(values.astype(float))).all():
            return "action"
    if flat or values.shape != (n, spaces.n_actions):
        raise InputError(
            f"{name} gave {values.dtype} of shape {values.shape} for {n} observations: expected "
            f"actions ({n},), or logits, probabilities or Q-values ({n}, {spaces.n_actions})"
        )
    refuse_nan(values, name)
    values = values.astype(np.float64)
    if (values >= 0).all() and np.allclose(values.sum(1), 1, atol=1e-4):
        return "probabilities"
    if np.allclose(np.logaddexp.reduce(values, axis=1), 0, atol=1e-4):
        return "logits"  # log-probabilities
    raise InputError(
        f"{name} gives {spaces.n_actions} numbers for an observation, which may be logits or "
        "Q-values: which are they? Say output='logits' or output='q'"
    )


def refuse_nan(values: np.ndarray, name: str) -> None:
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        what = "NaN or infinity" if values.dtype.kind == "f" else f"values of type {values.dtype}"
        raise InputError(f"{name} gave {what} for an observation: expected finite numbers")
