"""Models that were trained inside a VecNormalize: where its statistics are, or that they lack.

A zip of Stable-Baselines3 does not hold the statistics, and neither does a model that was loaded
from one. Without them the policy sees observations on another scale than it was trained on, and
acts badly without any error.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.foreign_files import parsing
from policy_inertia.interop.pickled_data import pickled_array, read_pickle
from policy_inertia.interop.vec_normalize import read_statistics

NAMES = ("vecnormalize.pkl", "vec_normalize.pkl")
"""What RL Zoo and the Hugging Face Hub call the statistics."""
ANY_NAME = re.compile(r".*vec.*normali[sz]e.*\.pkl", re.I)


def statistics_in(folder: Path) -> Path | None:
    """The VecNormalize statistics that RL Zoo saved beside a model, in a folder named like the env.

    It does not search deeper: the folder may be a large one.
    """
    files = [folder / name for name in NAMES]
    files += [path for name in NAMES for path in sorted(folder.glob(f"*/{name}"))]
    return next((path for path in files if os.path.exists(path)), None)


def statistics_for(
    path: Path,
    data: dict[str, Any],
    space: gym.Space[Any],
    spaces: Spaces,
    warn: Callable[[str], None],
) -> Path | None:
    """The statistics beside a zip whose model needs them; None, with a warning if they lack.

    Args:
        path: The zip.
        data: The JSON in it.
        space: The env's observation space.
        spaces: The same as ours, with the actions.
        warn: Called with a sentence about what is used, or seems to be missing.
    """
    file, needed = _beside(path, spaces), _normalised(path, data, space)
    if file is not None and needed:
        warn(
            f"{file} lies beside {path.name}, which was trained inside a VecNormalize, and is "
            "used: if it is not of this training, add --normalise FILE or --normalise none (in "
            "Python normalise=...)"
        )
        return file
    if file is not None:
        warn(
            f"{file} lies beside {path.name}, and a zip does not hold such statistics: if the "
            f"policy was trained with them, add --normalise {file} (in Python normalise=...), or "
            "it sees observations on another scale than in training"
        )
    elif needed:
        warn(
            f"{path} was trained inside a VecNormalize, and a zip does not hold its statistics: if "
            "it normalised observations, add --normalise FILE (in Python normalise=...), a .npz or "
            ".pkl, or the policy sees observations on another scale than in training"
        )
    return None


def warn_of_model(
    model: Any, name: str, space: gym.Space[Any], warn: Callable[[str], None]
) -> None:
    """Warn if a live model without a VecNormalize was trained inside one; see `_normalised`.

    Args:
        model: The model.
        name: What messages call it.
        space: The env's observation space.
        warn: Called with the warning.
    """
    if hasattr(model, "learning_starts"):
        needed = _out_of_bounds(getattr(model, "_last_obs", None), space)
    else:
        needed = getattr(model, "_last_original_obs", None) is not None
    if needed:
        warn(
            f"{name} was trained inside a VecNormalize and no longer has its statistics: if it "
            "normalised observations, give them as normalise=... (the VecNormalize, or its .pkl), "
            "or the policy sees observations on another scale than in training; normalise=False "
            "says that it did not"
        )


def _beside(path: Path, spaces: Spaces) -> Path | None:
    """Statistics that lie beside a zip and fit the env."""
    folders = [path.parent, path.with_suffix("")]
    for folder in folders:
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError:
            continue
        for name in names:
            if ANY_NAME.fullmatch(name) and _fit(folder / name, spaces):
                return folder / name
    return None


def _fit(file: Path, spaces: Spaces) -> bool:
    """Whether a file holds statistics of observations like these."""
    try:
        return read_statistics(file, spaces) is not None
    except InputError:
        return False


def _normalised(path: Path, data: dict[str, Any], space: gym.Space[Any]) -> bool:
    """Whether the JSON of a zip shows that its model saw normalised observations.

    Models that learn from their own rollouts (PPO, A2C) keep an original observation only inside a
    VecNormalize. Others always do; but a normalised last observation often lies outside the bounds
    of the space.
    """
    if "learning_starts" not in data:
        return data.get("_last_original_obs") is not None
    if not isinstance(data.get("_last_obs"), dict):
        return False
    try:
        with parsing(path, "an observation", ""):
            pickled = base64.b64decode(data["_last_obs"][":serialized:"])
            last = pickled_array(read_pickle(pickled))
    except InputError:
        return False
    return _out_of_bounds(last, space)


def _out_of_bounds(last: Any, space: gym.Space[Any]) -> bool:
    """Whether a batch of observations has numbers that the env cannot return."""
    if not isinstance(space, gym.spaces.Box) or not isinstance(last, np.ndarray):
        return False
    if last.shape[1:] != space.shape or last.dtype.kind != "f":
        return False
    return bool(((last < space.low) | (last > space.high)).any() or not np.isfinite(last).all())
