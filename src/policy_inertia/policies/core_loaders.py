"""The registry of loaders, and `load_core`: anybody's policy as a core.

Each kind of policy has a loader. The loaders live in `policy_inertia.interop`, a higher layer, and
register themselves here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.probing import OUTPUT_KINDS, OutputKind, read_spaces
from policy_inertia.policies.trained import find_trained
from policy_inertia.storage import regular_file


@dataclass(frozen=True)
class CoreOptions:
    """The options of `load_core`, as a loader receives them."""

    output: OutputKind | None = None
    output_name: str | None = None
    temperature: float | None = None
    normalise: Any = None
    trust: bool = False
    name: str | None = None
    env_kwargs: dict[str, Any] | None = None
    warn: Callable[[str], None] = warnings.warn
    clip: bool = False
    masks: bool = False
    frame_stack: int | None = None


class Loader(NamedTuple):
    """How one kind of policy becomes a core."""

    accepts: Callable[[Any], bool]
    """Whether the object, or the `Path` of an existing file or folder, is of this kind."""
    load: Callable[[Any, Any, CoreOptions], Any]
    """From the object or path, the env (or None) and the options to the `Core`, or for Box actions
    to the `ContinuousCore`."""


LOADERS: list[Loader] = []


def register_loader(loader: Loader) -> None:
    """Add a loader to those that `load_core` tries; the one registered last is tried first."""
    LOADERS.insert(0, loader)


def load_core(
    core: Any,
    env: Any = None,
    *,
    output: OutputKind | None = None,
    output_name: str | None = None,
    temperature: float | None = None,
    normalise: Any = None,
    trust: bool = False,
    name: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    clip: bool = False,
    masks: bool = False,
    frame_stack: int | None = None,
) -> Any:
    """Turn somebody's policy into a core.

    Args:
        core: A Stable-Baselines3, sb3-contrib or SBX model; an SB3 zip, or the folder in which RL
            Zoo keeps it; an ONNX file; a function from observations (one or a batch) to an action,
            probabilities, logits or Q-values; a run folder or `Policy` of ours (for a nested
            policy, its core is used).
        env: The task: a Gymnasium id, a function that makes the env, or an env. A live model
            knows its own.
        output: What an ONNX file or a function returns: "action", "logits", "probabilities" or
            "q". Needed only where it cannot be inferred.
        output_name: Which output of an ONNX file to use.
        temperature: Follow Q-values by softmax(Q / T), or sharpen or flatten probabilities. 0 is
            greedy.
        normalise: Statistics of SB3's VecNormalize: the object, (mean, var), a .npz file with
            both, or its .pkl file. False ignores a live model's own, and those beside a zip.
        trust: Allow an SB3 zip to run its pickled code, and an ONNX file to hold any operators, to
            open files beside it and to cost what it costs. For your own files only.
        name: What messages call the core.
        env_kwargs: Arguments of the env.
        warn: Called with a sentence where statistics of a VecNormalize seem to be missing.
        clip: Clip the actions of a function or an ONNX file to their bounds, for Box actions.
        masks: Let it choose only among the actions that the env's `action_masks()` allow, as
            MaskablePPO does anyway.
        frame_stack: How many frames the VecFrameStack had in which a zip was trained. A live model
            and an RL Zoo folder know it.

    Returns:
        A `Core`; for an env with Box actions, a `ContinuousCore`.

    Raises:
        InputError: The policy cannot be used as a core, or does not fit the env.
    """
    if output is not None and output not in OUTPUT_KINDS:
        raise InputError(f"output is '{output}'{nearest(str(output), OUTPUT_KINDS)}")
    if isinstance(core, Core | ContinuousCore):
        return core
    options = CoreOptions(
        output,
        output_name,
        temperature,
        normalise,
        trust,
        name,
        env_kwargs,
        warn,
        clip,
        masks,
        frame_stack,
    )
    source = find_trained(Path(core)) if isinstance(core, str | os.PathLike) else core
    for loader in LOADERS:
        if loader.accepts(source):
            return loader.load(source, env, options)
    raise _unknown(source)


def read_env(core: Any, env: Any, options: CoreOptions) -> tuple[gym.Space[Any], Spaces]:
    """The spaces of the env that a loader was given; see `read_spaces`.

    Raises:
        InputError: No env was given.
    """
    if env is None:
        raise InputError(
            f"the env of {source_name(core)} is not known: give its Gymnasium id, a function that "
            "makes it, or the env itself"
        )
    return read_spaces(env, options.env_kwargs)


def source_name(core: Any) -> str:
    """What messages call something that shall become a core."""
    if isinstance(core, Path):
        return core.name
    return getattr(core, "__name__", None) or type(core).__name__


def _unknown(source: Any) -> InputError:
    """The error for something that no loader accepts."""
    if not isinstance(source, Path):
        return InputError(
            f"a core cannot be made of {source_name(source)}: give a Stable-Baselines3 model or "
            "zip, an ONNX file, a callable, or one of our policies"
        )
    if not os.path.exists(source):  # unlike `Path.exists`, it never raises
        regular_file(source)  # raises, and says why it cannot be opened
    if source.is_dir():
        return InputError(
            f"{source} holds no policy: expected a run folder with policy.safetensors, or a "
            "Stable-Baselines3 zip such as best_model.zip"
        )
    return InputError(
        f"{source} ends in '{source.suffix}': expected a Stable-Baselines3 .zip, an .onnx file, "
        "a policy.safetensors, or a folder"
    )
