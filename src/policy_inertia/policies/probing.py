"""Calling a policy that we know nothing about, and checking what it returns.

The caller passes a function from a batch of observations to an output. This module makes the
observations to try it with, infers which kind of output it returns, and checks every output.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from policy_inertia.actions.space import refuse_not_finite
from policy_inertia.envs.dict_observations import DictBox, dict_space, unflatten, vector_space
from policy_inertia.envs.making import make_vector, name_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError

OutputKind = Literal["action", "logits", "probabilities", "q"]
OUTPUT_KINDS: tuple[OutputKind, ...] = ("action", "logits", "probabilities", "q")
OutputFunction = Callable[[np.ndarray], Any]
"""From a batch of the env's observations to one output for each of them."""


def read_spaces(env: Any, kwargs: dict[str, Any] | None = None) -> tuple[gym.Space[Any], Spaces]:
    """Read the spaces of an env.

    Args:
        env: A Gymnasium id, a function that makes an env, an env, or anything else that has an
            `observation_space` and an `action_space`, such as a Stable-Baselines3 model.
        kwargs: Arguments of the env, for an id or a function.

    Returns:
        The observation space of one env as Gymnasium describes it (of Dict observations, the space
        of their vectors), and both spaces as ours.
    """
    if isinstance(env, str | type) or not hasattr(env, "action_space"):
        vector, spaces = make_vector(env, 1, kwargs)
        vector.close()
        return vector.single_observation_space, spaces
    one = "single_" if hasattr(env, "single_action_space") else ""
    observation = getattr(env, f"{one}observation_space")
    action = getattr(env, f"{one}action_space")
    name = name_of(type(env))
    return vector_space(observation, name), Spaces.of(observation, action, name)


def gym_space(spaces: Spaces) -> gym.Space[Any]:
    """A Gymnasium space for observations whose bounds are not known."""
    if spaces.entries:
        return dict_space(spaces.entries)
    if spaces.n_states is not None:
        return gym.spaces.Discrete(spaces.n_states, start=spaces.first_state)
    if spaces.planes:
        return gym.spaces.Box(0, 1, spaces.obs_shape, np.bool_)
    if spaces.pixels:
        return gym.spaces.Box(0, 255, spaces.obs_shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, spaces.obs_shape, np.float32)


def of_entries(function: Callable[[Any], Any], spaces: Spaces) -> OutputFunction:
    """A function of vectors, from one that takes the Dict observations behind them."""
    if not spaces.entries:
        return function
    return lambda obs: function(unflatten(spaces.entries, np.asarray(obs)))


def example_observations(space: gym.Space[Any], n: int, seed: int = 0) -> np.ndarray:
    """`n` observations to try a policy with.

    Real numbers are standard normal, clipped to the bounds of the space. Everything else is
    sampled from the space.
    """
    if isinstance(space, DictBox):
        return space.examples(n, seed)
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype, np.floating):
        values = np.random.default_rng(seed).normal(0, 1, (n, *space.shape))
        return np.clip(values, space.low, space.high).astype(space.dtype)
    space = copy.deepcopy(space)  # do not change the state of the env's own generator
    space.seed(seed)
    return np.array([space.sample() for _ in range(n)])


def check_output(output: Any, kind: OutputKind, n: int, spaces: Spaces, name: str) -> np.ndarray:
    """Check what a policy returned for `n` observations.

    Args:
        output: What the policy returned.
        kind: What it should be.
        n: Number of observations.
        spaces: The env's spaces.
        name: What error messages call the policy.

    Returns:
        Actions counted from 0, `(n,)`, for the kind "action"; else float32 `(n, actions)`.

    Raises:
        InputError: The output has another shape, is not finite, or does not fit the spaces.
    """
    values = np.asarray(output)
    if kind == "action":
        return spaces.actions.read(values, n, name)
    width = spaces.actions.width
    if values.shape != (n, width):
        raise InputError(
            f"{name} gave shape {values.shape} for {n} observations: expected {kind} of shape "
            f"({n}, {width}), one for each action of this env"
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        values = values.astype(np.float32) if values.dtype.kind in "biuf" else values
    refuse_not_finite(values, name)
    if kind == "probabilities":
        parts: Any = spaces.actions
        totals = np.stack([values[:, p].sum(1, dtype=np.float64) for p in parts.parts])
        if (values < 0).any() or (abs(totals - 1) > 1e-3).any():
            worst = totals.flat[abs(totals - 1).argmax()]
            raise InputError(
                f"{name} gave probabilities that sum to {worst:.4g} or are negative: expected "
                "rows that sum to 1, so give output='logits' or output='q' if they are those"
            )
    return values


def infer_kind(values: np.ndarray, spaces: Spaces, name: str) -> OutputKind:
    """Infer which kind of output a policy returned for a few observations.

    Raises:
        InputError: The output is ambiguous (logits and Q-values look the same), or it is none of
            the four kinds.
    """
    n = len(values)
    if spaces.actions.shape:
        return _infer_heads(values, spaces, name)
    flat = values.size == n and (values.ndim == 1 or spaces.discrete.n > 1)
    if flat:
        refuse_not_finite(values, name)
        if (values == np.round(values.astype(float))).all():
            return "action"
    if flat or values.shape != (n, spaces.discrete.n):
        raise InputError(
            f"{name} gave {values.dtype} of shape {values.shape} for {n} observations: expected "
            f"actions ({n},), or logits, probabilities or Q-values ({n}, {spaces.discrete.n})"
        )
    refuse_not_finite(values, name)
    values = values.astype(np.float64)
    if (values >= 0).all() and np.allclose(values.sum(1), 1, atol=1e-4):
        return "probabilities"
    if np.allclose(np.logaddexp.reduce(values, axis=1), 0, atol=1e-4):
        return "logits"  # log-probabilities
    raise InputError(
        f"{name} gives {spaces.discrete.n} numbers for an observation, which may be logits or "
        "Q-values: say which, with output='logits' or output='q'"
    )


def _infer_heads(values: np.ndarray, spaces: Spaces, name: str) -> OutputKind:
    """`infer_kind` for actions with several heads: only actions can be told from the rest."""
    n, h = len(values), spaces.actions.shape[0]
    if values.shape == (n, h):
        refuse_not_finite(values, name)
        if (values == np.round(values.astype(float))).all():
            return "action"
    raise InputError(
        f"{name} gave {values.dtype} of shape {values.shape} for {n} observations: expected "
        f"actions ({n}, {h}), or output='logits' for logits of all heads' actions, "
        f"({n}, {spaces.actions.width})"
    )
