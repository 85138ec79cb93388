"""Statistics of Stable-Baselines3's VecNormalize, as one layer in front of a network."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.foreign_files import parse_npy, parsing, read_members, size_of
from policy_inertia.interop.pickled_data import Call, pickled_array, read_pickle
from policy_inertia.networks.layers import Rescale, run
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


def read_statistics(normalise: Any, spaces: Spaces) -> Rescale | None:
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
        return _rescale(Statistics(*normalise), spaces, "normalise")
    raise InputError(
        f"normalise is {type(normalise).__name__}: give a VecNormalize, (mean, var), a .npz with "
        "both, or its .pkl"
    )


def statistics_of_model(model: Any, env: Any) -> Any:
    """The VecNormalize that a live model was trained in; None if there is none to apply.

    An env inside a VecNormalize returns normalised observations, so nothing is left to do.
    """
    return None if _normalises(env) else model.get_vec_normalize_env()


def after_statistics(function: OutputFunction, statistics: Rescale | None) -> OutputFunction:
    """A function of the env's observations, from one of normalised observations."""
    if statistics is None:
        return function
    return lambda obs: function(run((statistics,), obs))


def _from_file(path: Path, spaces: Spaces) -> Rescale | None:
    advice = "give a .npz with mean and var, or what VecNormalize saved"
    with parsing(path, "VecNormalize statistics", advice):
        statistics = _read_npz(path) if path.suffix == ".npz" else _read_pickled(path)
    return None if statistics is None else _rescale(statistics, spaces, str(path))


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


def _read_pickled(path: Path) -> Statistics | None:
    """The same from what VecNormalize pickled; None if it does not normalise observations.

    The pickle is read as data: nothing in it is imported, called or built.
    """
    pickled = read_pickle(read_file(path, PICKLE_LIMIT))
    if not isinstance(pickled, Call) or not isinstance(pickled.state, dict):
        raise ValueError("it is no pickle of a VecNormalize")
    state = pickled.state
    if state["norm_obs"] is False:
        return None
    if isinstance(state["obs_rms"], dict):
        raise _dict_observations(str(path))
    rms = state["obs_rms"].state
    arrays = map(pickled_array, (rms["mean"], rms["var"], state["epsilon"], state["clip_obs"]))
    mean, var, epsilon, clip = arrays
    return Statistics(mean, var, float(epsilon), float(clip))


def _from_object(normaliser: Any, spaces: Spaces) -> Rescale | None:
    if not normaliser.norm_obs:
        return None
    if isinstance(normaliser.obs_rms, dict):
        raise _dict_observations("normalise")
    rms = normaliser.obs_rms
    statistics = Statistics(rms.mean, rms.var, normaliser.epsilon, normaliser.clip_obs)
    return _rescale(statistics, spaces, "normalise")


def _dict_observations(name: str) -> InputError:
    return InputError(f"{name} has statistics of Dict observations: expected Box")


def _rescale(statistics: Statistics, spaces: Spaces, name: str) -> Rescale:
    try:
        mean, var = (np.asarray(values, float) for values in statistics[:2])
        epsilon, clip = (float(value) for value in statistics[2:])
    except (TypeError, ValueError):
        raise InputError(f"{name} holds other things than numbers: give mean and var") from None
    if mean.shape != spaces.obs_shape or var.shape != spaces.obs_shape:
        raise InputError(
            f"{name} has a mean of shape {mean.shape} and a variance of shape {var.shape}: "
            f"the observations have shape {spaces.obs_shape}"
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


def _normalises(env: Any) -> bool:
    """Whether an SB3 VecEnv has a VecNormalize among its wrappers."""
    while env is not None:
        if hasattr(env, "obs_rms"):
            return True
        env = getattr(env, "venv", None)
    return False
