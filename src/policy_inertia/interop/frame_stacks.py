"""Models that were trained inside SB3's VecFrameStack: how many frames, and along which axis.

The env gives single observations, and the core remembers the others (`FrameStack`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.dict_observations import is_image
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.memory_layers import MOST_FRAMES, FrameStack
from policy_inertia.storage import read_file

SETTING = re.compile(r"^[- ]*- frame_stack\n +- (\d{1,3})$", re.M)
"""The setting in RL Zoo's config.yml, which is an ordered dictionary of Python."""
CONFIG_LIMIT = 2**20
"""Bytes of a config.yml."""


def frame_stack(n: int | None, space: gym.Space[Any], spaces: Spaces) -> FrameStack | None:
    """The layer that stacks the last `n` observations as VecFrameStack does; None for no stack.

    Raises:
        InputError: `n` is no number of frames, or the observations cannot be stacked.
    """
    if n is None or n == 1:
        return None
    if not 1 < n <= MOST_FRAMES:
        raise InputError(f"frame_stack is {n}: give a number of frames from 1 to {MOST_FRAMES}")
    if spaces.entries or spaces.n_states is not None or not spaces.obs_shape:
        raise InputError(
            f"frame_stack is {n}, and these observations are no Box: stack them in the env, with a "
            "wrapper, and leave it out"
        )
    first = is_image(space) and int(np.argmin(spaces.obs_shape)) == 0
    return FrameStack(n, spaces.obs_shape, 0 if first else len(spaces.obs_shape) - 1)


def refuse_frames(frames: FrameStack | None, name: str) -> None:
    """Raise if a policy with continuous actions is to remember frames."""
    if frames is not None:
        raise InputError(
            f"{name} has continuous actions and was trained with {frames.n} stacked frames: such "
            "policies are not read, so give an env whose wrapper stacks them"
        )


def stack_of_model(model: Any, spaces: Spaces) -> int | None:
    """The number of frames that a live model's own VecFrameStack stacks.

    None where there is none, or where the env gives stacked observations itself.
    """
    env, n = model.get_env(), None
    while env is not None:
        n = getattr(vars(env).get("stacked_obs"), "n_stack", n)
        env = getattr(env, "venv", None)
    trained = int(np.prod(model.observation_space.shape or 0))
    return n if n and trained == n * int(np.prod(spaces.obs_shape)) else None


def stack_in(folder: Path) -> int | None:
    """The number of frames in the settings of an RL Zoo folder; None if they name none."""
    for file in [folder / "config.yml", *sorted(folder.glob("*/config.yml"))]:
        if file.is_file():
            match = SETTING.search(read_file(file, CONFIG_LIMIT).decode(errors="replace"))
            return int(match[1]) if match else None
    return None
