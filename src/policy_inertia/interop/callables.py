"""Functions, and objects with a `predict` method, as cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.dict_observations import unflatten
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.vec_normalize import after_statistics, read_statistics
from policy_inertia.policies import probing
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import CoreOptions, Loader, read_env, source_name
from policy_inertia.policies.cores import Core


def is_callable(source: Any) -> bool:
    """Whether this is a function of observations, or an object that predicts as SB3's do."""
    return callable(source) or hasattr(source, "predict")


def load_callable(source: Any, env: Any, options: CoreOptions) -> Core | ContinuousCore:
    """A function or an object with `predict` as a core."""
    space, spaces = read_env(source, env, options)
    statistics = read_statistics(options.normalise, spaces)
    # normalised observations may lie outside the bounds of the env's space
    seen = space if statistics is None else probing.gym_space(spaces)
    name = options.name or source_name(source)
    function = _predictor(source, name) if hasattr(source, "predict") else source
    if spaces.entries:
        function = _of_dicts(function, spaces)
    kind, function = _try_function(function, seen, spaces, options.output, name)
    function = after_statistics(function, statistics)
    if not spaces.actions.finite:
        return ContinuousCore.loaded(name, spaces, function, space, options.clip)
    return Core(
        name, spaces, kind, function, options.temperature, space=space, masked=options.masks
    )


LOADER = Loader(is_callable, load_callable)


def _try_function(
    function: Callable[[Any], Any],
    space: gym.Space[Any],
    spaces: Spaces,
    output: probing.OutputKind | None,
    name: str,
) -> tuple[probing.OutputKind, probing.OutputFunction]:
    """Try whether a function takes batches, and infer what it returns.

    Returns:
        The kind of its output, and a function that takes batches.
    """
    n = 3 if 2 in (spaces.actions.width, *spaces.actions.shape) else 2
    # never as many observations as there are actions, or numbers of an action
    obs = probing.example_observations(space, n)

    def one_by_one(obs: np.ndarray) -> np.ndarray:
        return np.array([np.asarray(function(o)).squeeze() for o in obs])

    values: np.ndarray | None = None
    try:
        values = np.asarray(function(obs))
        batched = values.shape[:1] == (n,) and (values.ndim <= 2 or not spaces.actions.finite)
    except Exception:  # a function of one observation may raise anything when it gets several
        batched = False
    if values is None or not batched:
        try:
            values = one_by_one(obs)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise InputError(
                f"{name} fails on observations of shape {obs.shape[1:]}, alone and as a batch "
                f"({reason}): expected an action, probabilities or Q-values"
            ) from error
    if not spaces.actions.finite:
        return "action", function if batched else one_by_one  # checked when it is clipped
    kind = output or probing.infer_kind(values, spaces, name)
    probing.check_output(values, kind, n, spaces, name)
    return kind, function if batched else one_by_one


def _of_dicts(function: Callable[[Any], Any], spaces: Spaces) -> Callable[[Any], Any]:
    """A function of vectors, one or a batch, from one that takes Dict observations."""
    batched = probing.of_entries(function, spaces)

    def of_vectors(obs: np.ndarray) -> Any:
        if np.ndim(obs) > 1:
            return batched(obs)
        one = unflatten(spaces.entries, np.asarray(obs)[None])
        return function({key: value[0] for key, value in one.items()})

    return of_vectors


def _predictor(model: Any, name: str) -> Callable[[Any], Any]:
    """The greedy actions of an object that predicts as Stable-Baselines3's models do."""

    def act(obs: np.ndarray) -> np.ndarray:
        result = model.predict(obs, deterministic=True)
        if not isinstance(result, tuple):
            return result
        if result[1] is not None:
            raise InputError(
                f"{name} carries a state from step to step, and a core must not: give a policy "
                "without memory"
            )
        return result[0]

    return act
