"""A policy as one safetensors file: nothing in it can run code."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
from jax import numpy as jnp

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms.interface import Algorithm, AlgorithmConfig, Traits
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.methods import DISCRETE, TABLES, find_method
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.origin import from_file, trusted
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.core_file import StoredCore, restore_core, store_core
from policy_inertia.policies.head_filters import Threshold
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.run_settings import refuse_bad_repeats
from policy_inertia.schema import in_file, read_as, read_into
from policy_inertia.storage import flatten, read_arrays, refuse_not_finite, unflatten, write_arrays
from policy_inertia.types import Tree

ACTIONS = {
    "discrete": ("Discrete", "dqn or sac"),
    "box": ("Box", "sac or td3"),
    "multi_discrete": ("MultiDiscrete or MultiBinary", "branching-dqn"),
}
"""The kinds of actions that are learned: their name, and methods for them."""
CORE = " (core)"
"""Follows a method's name where the policy is the method's core alone."""


@dataclass(frozen=True)
class PolicyParts:
    """Everything that makes up a policy."""

    method: str
    config: AlgorithmConfig
    spaces: Spaces
    params: Tree
    repeats: tuple[int, ...] = (1,)
    hysteresis: Threshold | None = None
    task: str = ""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    limit: Limit | MovementLimit | None = None
    switching: Switching | None = None


@dataclass(frozen=True)
class PolicyDescription:
    """The JSON in a policy file."""

    kind: str
    method: str
    config: dict[str, Any]
    config_class: str
    spaces: dict[str, Any]
    repeats: tuple[int, ...]
    hysteresis: Threshold | None
    task: str
    env_kwargs: dict[str, Any]
    calibration: Calibration | None
    core: StoredCore | None = None
    limit: Limit | MovementLimit | None = None
    switching: Switching | None = None


def choice_spec(spaces: Spaces, repeats: tuple[int, ...], traits: Traits) -> Spec:
    """The sizes of a task for a policy that also picks for how long to hold its actions.

    Args:
        spaces: The task's spaces.
        repeats: For how many steps an action may be held.
        traits: What the algorithm is for.

    Raises:
        InputError: The algorithm is for another kind of actions.
    """
    spec: Any = spaces.spec
    core_alone = traits.frozen and not traits.nested  # learns nothing, so it may have any list
    kind = DISCRETE if core_alone and spec.actions.finite else spec.actions.kind
    if kind in ACTIONS and kind != traits.actions:
        raise InputError(
            f"the actions are a {spec.actions} and the method learns {ACTIONS[traits.actions][0]} "
            f"ones: train {ACTIONS[kind][1]} on this env"
        )
    if repeats == (1,):
        return spec
    return spec._replace(actions=spec.actions.with_repeats(repeats), repeats=repeats)


def write_policy(path: Path, parts: PolicyParts) -> None:
    """Write a policy to one file."""
    about = {
        "kind": "policy",
        "method": parts.method,
        "config": dataclasses.asdict(parts.config),
        "config_class": type(parts.config).__name__,
        "spaces": parts.spaces.to_dict(),
        "repeats": parts.repeats,
        "hysteresis": parts.hysteresis,
        "task": parts.task,
        "env_kwargs": parts.env_kwargs,
        "calibration": parts.calibration and parts.calibration.to_dict(),
        "limit": parts.limit and dataclasses.asdict(parts.limit),
        "switching": parts.switching and parts.switching.to_dict(),
    }
    arrays = flatten(parts.params, "policy")
    if isinstance(parts.spaces, SpacesWithCore):
        core_arrays, about["core"] = store_core(parts.spaces)
        arrays |= core_arrays
    write_arrays(path, arrays, about)


def read_policy(path: Path, core: Any = None, trust: bool = False) -> PolicyParts:
    """Read what `write_policy` wrote.

    Args:
        path: The file, or a run folder with a `policy.safetensors`.
        core: The policy that this one was trained around, where the file could not hold it.
        trust: Whether the file may name an env whose module is imported, or arguments that are
            paths; see `origin`.

    Raises:
        InputError: The file is damaged, is no policy, or needs a core that was not given.
    """
    if path.is_dir():
        path = path / "policy.safetensors"
    arrays, values = read_arrays(path)
    trusting = f"Policy.load({str(path)!r}, trust=True)"
    values = trusted(values) if trust else from_file(values, path, trusting)
    if values.get("kind") != "policy":
        raise InputError(
            f"{path} holds no policy with Discrete actions: give a policy.safetensors, or the run "
            "folder it is in (ContinuousCore.load reads policies with continuous actions)"
        )
    about = read_as(PolicyDescription, values, path)
    refuse_not_finite(arrays, path)
    with in_file(path):
        config = read_into(_template(about), about.config)
        spaces = Spaces.from_dict(about.spaces)
        refuse_bad_repeats(about.repeats)
        if about.core is not None:
            spaces = restore_core(spaces, arrays, about, core)
        algorithm = config.build(choice_spec(spaces, about.repeats, config.traits))
    return PolicyParts(
        about.method,
        config,
        spaces,
        unflatten(shapes_of(algorithm), arrays, "policy", path),
        about.repeats,
        about.hysteresis,
        about.task,
        about.env_kwargs,
        about.calibration,
        about.limit,
        about.switching,
    )


class _Shapes:
    """Stands for a random generator where only the shapes of its arrays matter.

    Under `jax.eval_shape` these arrays are never made, so a file that declares a huge network asks
    for no memory.
    """

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> Any:
        return jnp.zeros(size)


def shapes_of(algorithm: Algorithm) -> Tree:
    """Return the shapes of the parameters that act, without making them."""
    generator: Any = _Shapes()
    return jax.eval_shape(lambda: algorithm.acting(algorithm.init(generator)))


def whole_config(method: str, config: AlgorithmConfig) -> AlgorithmConfig:
    """The settings as a config of the method's own class, of which `config` may be a mode."""
    own = type(find_method(method, config.traits.actions).config)
    names = [f.name for f in dataclasses.fields(own)]
    return own(**{name: getattr(config, name) for name in names})


def _template(about: PolicyDescription) -> AlgorithmConfig:
    """A config of the class that the file's settings belong to, found through its method's row."""
    name = about.method.removesuffix(CORE)
    rows = [find_method(name, kind).config for kind in TABLES]
    alone = name != about.method
    configs = [c for row in rows for c in ([row.core_config] if alone else row.variants())]
    for known in configs:
        if type(known).__name__ == about.config_class:
            return known
    raise InputError(
        f"its settings are those of {about.config_class[:60]}: expected those of {about.method}, "
        "so save the policy again"
    )
