"""Zips that Stable-Baselines3 saved, and folders in which RL Zoo keeps them, as cores.

Nothing is unpickled and PyTorch is not needed: the weights are read as data (`torch_weights`), and
everything else comes from their shapes and from the readable part of the zip's JSON. Only with
`trust=True` does a zip whose network cannot be rebuilt in this way run its pickled code.
"""

from __future__ import annotations

import dataclasses
import os
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.foreign_files import (
    parsing,
    read_members,
    refuse_not_finite,
    shown,
    size_of,
)
from policy_inertia.interop.frame_stacks import frame_stack, refuse_frames, stack_in
from policy_inertia.interop.missing_statistics import statistics_for, statistics_in
from policy_inertia.interop.sb3 import NetworkReading, read_actor, read_policy
from policy_inertia.interop.sb3_actor import rebuild_actor, refuse_other_bounds
from policy_inertia.interop.sb3_network import (
    MASKABLE_POLICIES,
    NetworkFacts,
    UnknownNetworkError,
    Weights,
    rebuild_network,
)
from policy_inertia.interop.sb3_recurrent import ARGUMENTS
from policy_inertia.interop.torch_weights import parse_weights
from policy_inertia.interop.vec_normalize import read_statistics
from policy_inertia.networks.layers import Layer, run
from policy_inertia.networks.memory_layers import FrameStack
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import CoreOptions, Loader, read_env, source_name
from policy_inertia.policies.cores import Core
from policy_inertia.schema import parse_object

DATA_LIMIT = 16 * 2**20
"""Bytes of the member `data`, the model's settings as JSON."""
WEIGHTS_LIMIT = 2**30
"""Bytes of the member `policy.pth`, the weights."""
HARMLESS = {  # arguments of a policy that do not change what its network computes
    *ARGUMENTS,
    "net_arch",
    "n_quantiles",
    "ortho_init",
    "share_features_extractor",
    "optimizer_class",
    "optimizer_kwargs",
    "features_extractor_kwargs",
    "log_std_init",
    "use_sde",
    "n_critics",
}


def find_zip(source: Any) -> Path | None:
    """The zip that a path means; None if there is none.

    A folder of RL Zoo, such as logs/dqn/CartPole-v1_1, holds best_model.zip or CartPole-v1.zip.
    The ending .zip may be missing, as for Stable-Baselines3's own `load`.
    """
    if not isinstance(source, Path):
        return None
    if os.path.isdir(source):  # unlike `is_dir`, it never raises
        env = source.name.rpartition("_")[0] or source.name
        names = [source / "best_model.zip", source / f"{env}.zip", *sorted(source.glob("*.zip"))]
        return next((path for path in names if os.path.exists(path)), None)
    if not os.path.exists(source):
        source = source.with_name(f"{source.name}.zip")
    return source if source.suffix == ".zip" and os.path.exists(source) else None


def load_zip(source: Path, env: Any, options: CoreOptions) -> Core | ContinuousCore:
    """A saved model as a core."""
    path = find_zip(source)
    assert path is not None, "the loader accepted it"
    normalise = options.normalise
    if normalise is None and source.is_dir():
        normalise = statistics_in(source)
    space, spaces = read_env(path, env, options)
    weights, data = _open_zip(path)
    if normalise is None:
        normalise = statistics_for(path, data, space, spaces, options.warn)
    statistics = read_statistics(normalise, spaces)
    stack = options.frame_stack or (stack_in(source) if source.is_dir() else None)
    frames = frame_stack(stack, space, spaces)
    name = options.name or source_name(path)
    core: Core | ContinuousCore
    if spaces.actions.finite:
        kind, function, layers = _read_zip(
            path, weights, data, space, spaces, statistics, options.trust, frames
        )
        masked = options.masks or _policy_module(data) == MASKABLE_POLICIES
        core = Core(name, spaces, kind, function, options.temperature, layers, space, masked=masked)
    else:
        refuse_frames(frames, name)
        saved = (weights, data)
        core = _read_actor(path, saved, name, space, spaces, statistics, options.trust)
    return core


LOADER = Loader(lambda source: find_zip(source) is not None, load_zip)


def _read_zip(
    path: Path,
    weights: Weights,
    data: dict[str, Any],
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    trust: bool,
    frames: FrameStack | None = None,
) -> NetworkReading:
    try:
        facts = dataclasses.replace(_network_facts(data), frames=frames)
        kind, layers = rebuild_network(weights, facts, space, spaces, statistics, str(path))
    except UnknownNetworkError as reason:
        _refuse_untrusted(path, reason, trust)
        policy = _unpickle_policy(path, weights)
        return read_policy(policy, space, spaces, statistics, str(path), frames)
    return kind, partial(run, layers), layers


def _refuse_untrusted(path: Path, reason: UnknownNetworkError, trust: bool) -> None:
    """Raise if a zip must not run its pickled code, which alone could rebuild its network."""
    if not trust:
        raise InputError(
            f"{path} cannot be rebuilt from its shapes alone, because {shown(reason)}: give "
            "trust=True to let it run its pickled code if it is yours, or give the live model"
        ) from None


def _read_actor(
    path: Path,
    saved: tuple[Weights, dict[str, Any]],
    name: str,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    trust: bool,
) -> ContinuousCore:
    """A saved model with continuous actions as a core."""
    weights, data = saved
    trained, actions = data.get("action_space"), spaces.actions
    if isinstance(trained, dict) and isinstance(actions, Box):
        refuse_other_bounds((trained.get("low"), trained.get("high")), actions, name)
    try:
        layers = rebuild_actor(weights, _network_facts(data), space, spaces, statistics, str(path))
    except UnknownNetworkError as reason:
        _refuse_untrusted(path, reason, trust)
        policy = _unpickle_policy(path, weights)
        return read_actor(policy, name, space, spaces, statistics)
    return ContinuousCore.from_layers(name, spaces, layers, space)


def _open_zip(path: Path) -> tuple[Weights, dict[str, Any]]:
    """The weights and the JSON of a zip, without unpickling anything."""
    size = size_of(path)
    advice = "it is damaged, or was not written by model.save, so save the model again"
    with parsing(path, "a zip of Stable-Baselines3", advice), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "policy.pth" not in names or "data" not in names:
            raise InputError(
                f"{path} is a zip, but not one of Stable-Baselines3: it holds no policy.pth "
                "and data, so save the model with model.save (SBX: give the live model)"
            )
        text = read_members(archive, ["data"], size, DATA_LIMIT)["data"]
        pth = read_members(archive, ["policy.pth"], size, WEIGHTS_LIMIT)["policy.pth"]
    advice = (
        "it is damaged, or holds more than weights and was not loaded, so get a file from somebody "
        "you trust, saved with a recent version of Stable-Baselines3"
    )
    with parsing(path, "the weights of a policy", advice):
        weights = parse_weights(pth)
    refuse_not_finite(weights, path)
    return weights, parse_object(text, path, "a zip of Stable-Baselines3 with a table `data`")


def _network_facts(data: dict[str, Any]) -> NetworkFacts:
    """What the readable part of a zip's JSON says; its pickles are left alone."""
    module = _policy_module(data)
    if module is None:
        raise UnknownNetworkError("it does not name the class of its policy")
    arguments = data.get("policy_kwargs") or {}
    if not isinstance(arguments, dict):
        raise UnknownNetworkError("the arguments of its policy are no table")
    kwargs = {k: v for k, v in arguments.items() if not k.startswith(":")}
    if arguments and ":serialized:" in arguments and not kwargs:
        raise UnknownNetworkError("the arguments of its policy are pickled")
    activation = kwargs.pop("activation_fn", None)
    extractor = kwargs.pop("features_extractor_class", None)
    return NetworkFacts(
        module,
        _class_name(activation, "torch.nn.modules.activation"),
        _class_name(extractor, "stable_baselines3.common.torch_layers"),
        kwargs.pop("normalize_images", True) is True,
        tuple(sorted(set(kwargs) - HARMLESS)),
    )


def _policy_module(data: dict[str, Any]) -> str | None:
    """The module of the policy's class, by the readable part of a zip's JSON."""
    policy = data.get("policy_class")
    module = policy.get("__module__") if isinstance(policy, dict) else None
    return module if isinstance(module, str) else None


def _class_name(text: Any, module: str) -> str | None:
    """The name in "<class 'module.Name'>", None for None; anything else is not known."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise UnknownNetworkError("its network uses something that is not named")
    match = re.fullmatch(rf"<class '{re.escape(module)}\.(\w+)'>", text)
    if not match:
        raise UnknownNetworkError(f"its network uses {shown(text, 80)}")
    return match[1]


def _unpickle_policy(path: Path, weights: dict[str, np.ndarray]) -> Any:
    """The policy of a trusted zip, built by its own pickled class and arguments."""
    try:
        import torch
        from stable_baselines3.common.save_util import load_from_zip_file
    except ImportError:
        raise InputError(
            f"running the pickled code of {path} needs Stable-Baselines3: "
            "pip install policy-inertia[sb3]"
        ) from None
    advice = "give the live model, or a function that calls it"
    with parsing(path, "a model of the installed Stable-Baselines3", advice):
        data, _, _ = load_from_zip_file(path, device="cpu")
        assert data is not None, "_open_zip read it"
        kwargs = dict(data.get("policy_kwargs") or {})
        policy = data["policy_class"](
            data["observation_space"], data["action_space"], lambda _: 0.0, **kwargs
        )
        policy.load_state_dict({key: torch.as_tensor(value) for key, value in weights.items()})
    return policy
