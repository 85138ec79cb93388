"""Statistics of Stable-Baselines3's VecNormalize, as one layer in front of a network."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.dict_observations import slices
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.foreign_files import parse_npy, parsing, read_members, shown, size_of
from policy_inertia.interop.pickled_data import Call, pickled_array, read_pickle
from policy_inertia.networks.layers import Branch, Branches, Layer, Rescale, run
from policy_inertia.policies.probing import OutputFunction
from policy_inertia.storage import read_file

PICKLE_LIMIT = 64 * 2**20
"""Bytes of a .pkl file; VecNormalize also stores the last observations of every env."""
MEMBER_LIMIT = 64 * 2**20
"""Bytes of one array in a .npz file."""
EPSILON, CLIP = 1e-8, 10.0  # VecNormalize's own defaults


class Statistics(NamedTuple):
    """What VecNormalize knows about observations."""

    mean: Any
    var: Any
    epsilon: float = EPSILON
    clip: float = CLIP


class DictStatistics(NamedTuple):
    """The same of Dict observations; keys that are not among them stay as they are."""

    by_key: dict[str, Statistics]


def read_statistics(normalise: Any, spaces: Spaces) -> Layer | None:
    """What VecNormalize does to observations, as a layer.

    Args:
        normalise: A VecNormalize, (mean, var), the path of a .npz file with both, the path of a
            .pkl file that VecNormalize saved, or None or False for no normalisation.
        spaces: The env's spaces.

    Returns:
        The layer; None where observations are not normalised.

    Raises:
        InputError: The statistics cannot be read, do not fit the env, or are no statistics.
    """
    if normalise is None or normalise is False:
        return None
    if isinstance(normalise, str | os.PathLike):
        return _from_file(Path(normalise), spaces)
    if hasattr(normalise, "obs_rms"):
        return _from_object(normalise, spaces)
    if isinstance(normalise, tuple | list) and len(normalise) == 2:
        return _layer(Statistics(*normalise), spaces, "normalise")
    raise InputError(
        f"normalise is {type(normalise).__name__}: give a VecNormalize, (mean, var), a .npz with "
        "both, or its .pkl"
    )


def statistics_of_model(model: Any, env: Any) -> Any:
    """The VecNormalize that a live model was trained in; None if there is none to apply.

    An env inside a VecNormalize returns normalised observations, so nothing is left to do.
    """
    return None if normalises(env) else model.get_vec_normalize_env()


def after_statistics(function: OutputFunction, statistics: Layer | None) -> OutputFunction:
    """A function of the env's observations, from one of normalised observations."""
    if statistics is None:
        return function
    return lambda obs: function(run((statistics,), obs))


def _from_file(path: Path, spaces: Spaces) -> Layer | None:
    advice = "give a .npz with mean and var, or what VecNormalize saved"
    with parsing(path, "VecNormalize statistics", advice):
        statistics = _read_npz(path) if path.suffix == ".npz" else _read_pickled(path)
    return None if statistics is None else _layer(statistics, spaces, str(path))


def _read_npz(path: Path) -> Statistics:
    """Mean, variance, epsilon and clip in a .npz file."""
    size = size_of(path)
    with zipfile.ZipFile(path) as archive:
        names = ["mean.npy", "var.npy"]
        names += [n for n in ("epsilon.npy", "clip.npy") if n in archive.namelist()]
        members = read_members(archive, names, size, MEMBER_LIMIT)
    arrays = {name: parse_npy(data) for name, data in members.items()}
    epsilon, clip = arrays.get("epsilon.npy", EPSILON), arrays.get("clip.npy", CLIP)
    return Statistics(arrays["mean.npy"], arrays["var.npy"], float(epsilon), float(clip))


def _read_pickled(path: Path) -> Statistics | DictStatistics | None:
    """The same from what VecNormalize pickled; None if it does not normalise observations.

    The pickle is read as data: nothing in it is imported, called or built.
    """
    pickled = read_pickle(read_file(path, PICKLE_LIMIT))
    if not isinstance(pickled, Call) or not isinstance(pickled.state, dict):
        raise ValueError("it is no pickle of a VecNormalize")
    state = pickled.state
    if state["norm_obs"] is False:
        return None
    epsilon, clip = (float(pickled_array(state[name])) for name in ("epsilon", "clip_obs"))

    def read(rms: Any) -> Statistics:
        mean, var = (pickled_array(rms.state[name]) for name in ("mean", "var"))
        return Statistics(mean, var, epsilon, clip)

    if not isinstance(state["obs_rms"], dict):
        return read(state["obs_rms"])
    return DictStatistics({str(key): read(rms) for key, rms in state["obs_rms"].items()})


def _from_object(normaliser: Any, spaces: Spaces) -> Layer | None:
    if not normaliser.norm_obs:
        return None

    def read(rms: Any) -> Statistics:
        return Statistics(rms.mean, rms.var, normaliser.epsilon, normaliser.clip_obs)

    if not isinstance(normaliser.obs_rms, dict):
        return _layer(read(normaliser.obs_rms), spaces, "normalise")
    by_key = {key: read(rms) for key, rms in normaliser.obs_rms.items()}
    return _layer(DictStatistics(by_key), spaces, "normalise")


def _layer(statistics: Statistics | DictStatistics, spaces: Spaces, name: str) -> Layer:
    """The statistics as a layer; raise if they do not fit the observations."""
    if isinstance(statistics, Statistics):
        return _rescale(statistics, spaces.obs_shape, name)
    shapes = {entry.name: entry.shape for entry in spaces.entries}
    for key in statistics.by_key:
        if key not in shapes:
            raise InputError(
                f"{name} has statistics of the key {shown(key, 40)!r} of Dict observations, and "
                "the env has no such key: give the env that the policy was trained on"
            )
    branches = []
    for entry, at in zip(spaces.entries, slices(spaces.entries).values(), strict=True):
        own = statistics.by_key.get(entry.name)
        layers = () if own is None else (_rescale(own, entry.shape, f"{name}, {entry.name}"),)
        shape = entry.shape if own is not None else (entry.width,)
        branches.append(Branch(at.start, at.stop, shape, layers))
    return Branches(tuple(branches))


def normalised_keys(statistics: Layer | None, spaces: Spaces) -> set[str]:
    """The keys of Dict observations that a layer of `read_statistics` normalises."""
    if not isinstance(statistics, Branches):
        return set() if statistics is None else {entry.name for entry in spaces.entries}
    pairs = zip(spaces.entries, statistics.parts, strict=True)
    return {entry.name for entry, part in pairs if part.layers}


def _rescale(statistics: Statistics, shape: tuple[int, ...], name: str) -> Rescale:
    try:
        mean, var = (np.asarray(values, float) for values in statistics[:2])
        epsilon, clip = (float(value) for value in statistics[2:])
    except (TypeError, ValueError):
        raise InputError(f"{name} holds other things than numbers: give mean and var") from None
    if mean.shape != shape or var.shape != shape:
        raise InputError(
            f"{name} has a mean of shape {mean.shape} and a variance of shape {var.shape}: "
            f"the observations have shape {shape}"
        )
    for field, values in (("mean", mean), ("var", var)):
        if not np.isfinite(values).all() or (field == "var" and (values < 0).any()):
            raise InputError(
                f"{name} holds NaN, infinity or a negative variance in '{field}': give the "
                "statistics of a training that did not diverge"
            )
    if not 0 <= epsilon < np.inf or not clip > 0 or not (var + epsilon > 0).all():
        raise InputError(
            f"{name} has epsilon {epsilon} and clip {clip}: expected an epsilon of 0 or more, so "
            "that no variance is 0, and a clip above 0"
        )
    return Rescale(mean, np.sqrt(var + epsilon), clip if clip < np.inf else None)


def normalises(env: Any) -> bool:
    """Whether an SB3 VecEnv has a VecNormalize among its wrappers."""
    while env is not None:
        if hasattr(env, "obs_rms"):
            return True
        env = getattr(env, "venv", None)
    return False
