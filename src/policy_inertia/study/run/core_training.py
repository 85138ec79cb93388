"""Train a policy with Stable-Baselines3 or sb3-contrib, to be made smooth afterwards."""

from __future__ import annotations

import copy
import importlib.metadata
import io
from pathlib import Path
from typing import Any

from policy_inertia.envs.making import make_env
from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.study.core_plan import Core

LIBRARIES = ("stable-baselines3", "sb3-contrib", "torch")


def train_core(core: Core, path: Path, seed: int) -> None:
    """Train a policy with one thread, and save it as the zip file of its library.

    Args:
        core: How it is trained.
        path: The file; a kill leaves a whole file or none.
        seed: Seed of training.
    """
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    env = make_vec_env(lambda: make_env(core.env, core.env_kwargs), core.envs, seed=seed)
    try:
        algorithm = algorithm_of(core.algorithm)
        settings = copy.deepcopy(core.settings)  # the library changes what it is given
        policy = settings.pop("policy", "MlpPolicy")
        model = algorithm(policy, env, seed=seed, device="cpu", **settings)
        model.learn(core.steps)
    finally:
        env.close()
    data = io.BytesIO()
    model.save(data)
    make_folder(path.parent)
    write_file(path, data.getvalue())


def algorithm_of(name: str) -> Any:
    """Return a class of Stable-Baselines3 or sb3-contrib by its name.

    Raises:
        InputError: They are not installed, or neither has it.
    """
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError:
        raise InputError(
            f"{name} needs Stable-Baselines3 and sb3-contrib, which are not installed: pip install "
            "'policy-inertia[sb3]'"
        ) from None
    for library in (stable_baselines3, sb3_contrib):
        if hasattr(library, name):
            return getattr(library, name)
    raise InputError(
        f"the algorithm of a core is '{name}': give a class of Stable-Baselines3 or sb3-contrib, "
        "such as PPO"
    )


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that train cores."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}
