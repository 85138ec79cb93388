"""Policies of this library as cores; for a nested policy, its own core is used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.interop.description import core_network
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import CoreOptions, Loader
from policy_inertia.policies.cores import Core
from policy_inertia.policies.mean_action import mean_core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import read_spaces
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.policies.stored_policy import load_stored


def is_policy(source: Any) -> bool:
    """Whether this is a `Policy`, a policy file, or a run folder."""
    if isinstance(source, Path):
        file = source / "policy.safetensors" if os.path.isdir(source) else source
        return file.suffix == ".safetensors" and os.path.exists(file)
    return isinstance(source, Policy)


def load_policy(source: Any, env: Any, options: CoreOptions) -> Core | ContinuousCore:
    """One of our policies as a core; it must not depend on the previous action."""
    policy = load_stored(source) if isinstance(source, Path) else source
    if env is not None:
        _refuse_other_spaces(policy, env, options)
    if isinstance(policy, ContinuousCore):
        return policy.core()
    if policy.repeats != (1,):
        raise InputError(
            f"{policy} holds its actions for several steps, and a core has no memory: give a "
            "policy that decides at every step, such as nsac"
        )
    names = ("hysteresis", "limit", "switching")
    filters = {name: getattr(policy, name) for name in names}
    for name, value in filters.items():
        if value is not None and not policy.nested:
            raise InputError(
                f"{policy} depends on its previous action, and a core has no memory: give it "
                f"without its {name}"
            )
    if isinstance(policy.spaces, SpacesWithCore):
        return policy.spaces.core
    if not policy.spaces.actions.finite:
        return mean_core(policy.core()).core()
    kind, layers = core_network(policy)
    name = options.name or f"{policy.core().method} on {policy.task or 'a task'}"
    return Core.from_layers(name, policy.spaces.unscaled, kind, layers, options.temperature)


def _refuse_other_spaces(policy: Any, env: Any, options: CoreOptions) -> None:
    _, spaces = read_spaces(env, options.env_kwargs)
    if spaces.to_dict() != policy.spaces.unscaled.to_dict():
        raise InputError(
            f"{policy} acts on {policy.spaces} and the env has {spaces}: give the env that it was "
            "trained on"
        )


LOADER = Loader(is_policy, load_policy)
