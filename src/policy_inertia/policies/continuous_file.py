"""A policy with continuous actions, its filter and its limit as one safetensors file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.networks.layers import Layers, output_shape
from policy_inertia.networks.stored_layers import restore, store
from policy_inertia.origin import from_file, trusted
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.action_filter import Dimension
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.schema import in_file, read_as
from policy_inertia.storage import read_arrays, refuse_not_finite, write_arrays

KIND = "continuous policy"


@dataclass(frozen=True)
class ContinuousParts:
    """Everything that makes up a policy with continuous actions."""

    name: str
    spaces: Spaces
    layers: Layers | None
    dimensions: tuple[Dimension, ...]
    rule: Rule | None
    limit: MovementLimit | None
    curve: FilterCurve | None
    task: str
    env_kwargs: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class ContinuousDescription:
    """The JSON in a file."""

    kind: str
    name: str
    spaces: dict[str, Any]
    layers: list[dict[str, Any]]
    dimensions: tuple[Dimension, ...]
    rule: dict[str, Any] | None
    limit: MovementLimit | None
    curve: FilterCurve | None
    task: str = ""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    digest: str = ""


def write_continuous(path: Path, parts: ContinuousParts) -> None:
    """Write a policy to one file; without layers if its network is not known."""
    arrays, layers = store(parts.layers or ())
    about = {
        "kind": KIND,
        "name": parts.name,
        "spaces": parts.spaces.to_dict(),
        "layers": layers,
        "dimensions": parts.dimensions,
        "rule": parts.rule and rule_table.to_dict(parts.rule),
        "limit": parts.limit and rule_table.settings_of(parts.limit),
        "curve": parts.curve and parts.curve.to_dict(),
        "task": parts.task,
        "env_kwargs": parts.env_kwargs,
        "digest": parts.digest,
    }
    write_arrays(path, arrays, about)


def read_continuous(path: Path, trust: bool = False) -> ContinuousParts:
    """Read what `write_continuous` wrote; nothing in the file can run code.

    Args:
        path: The file, or a folder with a `policy.safetensors`.
        trust: Whether the file may name an env whose module is imported, or arguments that are
            paths; see `origin`.

    Raises:
        InputError: The file is damaged, or holds no policy with continuous actions.
    """
    if path.is_dir():
        path = path / "policy.safetensors"
    arrays, values = read_arrays(path)
    trusting = f"ContinuousCore.load({str(path)!r}, trust=True)"
    values = trusted(values) if trust else from_file(values, path, trusting)
    if values.get("kind") != KIND:
        raise InputError(
            f"{path} holds no policy with continuous actions: give a file that "
            "ContinuousCore.save wrote"
        )
    about = read_as(ContinuousDescription, values, path)
    refuse_not_finite(arrays, path)
    with in_file(path):
        spaces = Spaces.from_dict(about.spaces)
        if not isinstance(spaces.actions, Box):
            raise InputError("its actions are not continuous: expected a Box")
        layers = _restored(arrays, about.layers, spaces) if about.layers else None
        rule = None if about.rule is None else rule_table.from_dict(about.rule)
    return ContinuousParts(
        about.name,
        spaces,
        layers,
        about.dimensions,
        rule,
        about.limit,
        about.curve,
        about.task,
        about.env_kwargs,
        about.digest,
    )


def _restored(
    arrays: dict[str, np.ndarray], described: list[dict[str, Any]], spaces: Spaces
) -> Layers:
    """The network of a file, whose outputs must be the numbers of an action."""
    layers = restore(arrays, described)
    outputs = output_shape(layers, spaces.obs_shape)
    if outputs != spaces.actions.shape:
        raise InputError(
            f"its network has outputs of shape {list(outputs)}: expected "
            f"{spaces.actions.shape[0]} numbers of an action"
        )
    return layers
