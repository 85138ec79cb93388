"""Statistics of Stable-Baselines3's VecNormalize, as one layer in front of a network."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import Rescale, run
from policy_inertia.policies.probing import OutputFunction

EPSILON, CLIP = 1e-8, 10.0  # VecNormalize's own defaults


def read_statistics(normalise: Any, spaces: Spaces, trust: bool = False) -> Rescale | None:
    """What VecNormalize does to observations, as a layer.

    Args:
        normalise: A VecNormalize, (mean, var), the path of a .npz file with both, the path of a
            .pkl file that VecNormalize saved, or None or False for no normalisation.
        spaces: The env's spaces.
        trust: Allow a .pkl file to run its pickled code.

    Returns:
        The layer; None where observations are not normalised.
    """
    if normalise is None or normalise is False:
        return None
    if isinstance(normalise, str | os.PathLike):
        return _from_file(Path(normalise), spaces, trust)
    if hasattr(normalise, "obs_rms"):
        return _from_object(normalise, spaces)
    if isinstance(normalise, tuple | list) and len(normalise) == 2:
        mean, var = normalise
        return _rescale(mean, var, EPSILON, CLIP, spaces)
    raise InputError(
        f"normalise is {type(normalise).__name__}: give a VecNormalize, (mean, var), a .npz with "
        "both, or its .pkl with trust=True"
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


def _from_file(path: Path, spaces: Spaces, trust: bool) -> Rescale | None:
    if path.suffix != ".npz" and not trust:
        raise InputError(
            f"{path} is a pickle and could run code: give trust=True if it is yours, or "
            "normalise=(mean, var)"
        )
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                epsilon = float(file.get("epsilon", EPSILON))
                clip = float(file.get("clip", CLIP))
                return _rescale(file["mean"], file["var"], epsilon, clip, spaces)
        with open(path, "rb") as pickled:
            return read_statistics(pickle.load(pickled), spaces)
    except (OSError, KeyError, zipfile.BadZipFile, pickle.UnpicklingError, EOFError) as error:
        raise InputError(
            f"{path} cannot be read as VecNormalize statistics ({error}): give a .npz with "
            "mean and var, or what VecNormalize saved"
        ) from error


def _from_object(normaliser: Any, spaces: Spaces) -> Rescale | None:
    if not normaliser.norm_obs:
        return None
    if isinstance(normaliser.obs_rms, dict):
        raise InputError("these VecNormalize statistics are of Dict observations: expected Box")
    rms = normaliser.obs_rms
    return _rescale(rms.mean, rms.var, normaliser.epsilon, normaliser.clip_obs, spaces)


def _rescale(mean: Any, var: Any, epsilon: float, clip: float, spaces: Spaces) -> Rescale:
    mean, var = np.asarray(mean, float), np.asarray(var, float)
    if mean.shape != spaces.obs_shape or var.shape != spaces.obs_shape:
        raise InputError(
            f"normalise has a mean of shape {mean.shape} and a variance of shape {var.shape}: "
            f"the observations have shape {spaces.obs_shape}"
        )
    return Rescale(mean, np.sqrt(var + epsilon), clip)


def _normalises(env: Any) -> bool:
    """Whether an SB3 VecEnv has a VecNormalize among its wrappers."""
    while env is not None:
        if hasattr(env, "obs_rms"):
            return True
        env = getattr(env, "venv", None)
    return False
