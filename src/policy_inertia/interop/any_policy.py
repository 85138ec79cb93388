"""Policies by their path, ours or other people's, as policies that run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import gymnasium as gym

from policy_inertia.errors import InputError
from policy_inertia.interop.own_policies import is_policy
from policy_inertia.interop.sb3_zip import find_zip
from policy_inertia.policies.core_loaders import LOADERS, load_core
from policy_inertia.policies.core_policy import core_policy
from policy_inertia.policies.stored_policy import load_stored, stored_task
from policy_inertia.policies.trained import find_trained

ZOO_FOLDER = re.compile(r"(.+)_\d+")
"""RL Zoo's name of a run's folder, such as CartPole-v1_1."""


def load_any(
    path: Path,
    env: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
    *,
    trust: bool = False,
    core: Path | None = None,
    **core_options: Any,
) -> Any:
    """Return the policy in a file or folder, ours or one that `load_core` reads.

    Args:
        path: A run folder, a policy file, a zip of Stable-Baselines3, the folder in which RL Zoo
            keeps it, an ONNX file, or the name of a policy that comes with the package.
        env: Gymnasium id of the env, for policies of others. A folder of RL Zoo names it.
        env_kwargs: Arguments of that env.
        trust: Whether the file may run code; see `Policy.load` and `load_core`.
        core: The policy of others that the file is about, where the file could not hold it.
        core_options: Further options of `load_core`, for policies of others.

    Returns:
        A `Policy`; a `ContinuousCore` if its actions are continuous.

    Raises:
        InputError: The policy cannot be read, or its env is not known.
    """
    path = find_trained(path)
    if is_policy(path) or path.suffix == ".safetensors":
        if core is None:
            return load_stored(path, trust=trust)
        task, kwargs = stored_task(path, trust)
        options = {"env_kwargs": env_kwargs or kwargs, "trust": trust, **core_options}
        return load_stored(path, load_core(core, env or task, **options), trust)
    known = any(loader.accepts(path) for loader in LOADERS)
    env = env or zoo_env(path)
    if known and env is None:
        raise InputError(
            f"{path} does not name its environment: add --env, such as --env CartPole-v1"
        )
    foreign = load_core(path, env, trust=trust, env_kwargs=env_kwargs, **core_options)
    return core_policy(foreign, str(env), env_kwargs)


def zoo_env(path: Path) -> str | None:
    """The env that the name of an RL Zoo folder holds, if it is registered; None for others."""
    match = ZOO_FOLDER.fullmatch(path.name)
    if match is None or not os.path.isdir(path) or find_zip(path) is None:
        return None
    return match[1] if match[1] in gym.registry else None
