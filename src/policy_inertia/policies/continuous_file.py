"""A policy with continuous actions, its filter and its limit as one safetensors file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.networks import layers as network
from policy_inertia.networks.layers import Layers
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
    layers: Layers
    dimensions: tuple[Dimension, ...]
    rule: Rule | None
    limit: MovementLimit | None
    curve: FilterCurve | None


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


def write_continuous(path: Path, parts: ContinuousParts) -> None:
    """Write a policy to one file."""
    arrays, layers = network.store(parts.layers)
    about = {
        "kind": KIND,
        "name": parts.name,
        "spaces": parts.spaces.to_dict(),
        "layers": layers,
        "dimensions": parts.dimensions,
        "rule": parts.rule and rule_table.to_dict(parts.rule),
        "limit": parts.limit and rule_table.settings_of(parts.limit),
        "curve": parts.curve and parts.curve.to_dict(),
    }
    write_arrays(path, arrays, about)


def read_continuous(path: Path) -> ContinuousParts:
    """Read what `write_continuous` wrote; nothing in the file can run code.

    Raises:
        InputError: The file is damaged, or holds no policy with continuous actions.
    """
    arrays, values = read_arrays(path)
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
        layers = network.restore(arrays, about.layers)
        outputs = network.output_shape(layers, spaces.obs_shape)
        if outputs != spaces.actions.shape:
            raise InputError(
                f"its network has outputs of shape {list(outputs)}: expected "
                f"{spaces.actions.shape[0]} numbers of an action"
            )
        rule = None if about.rule is None else rule_table.from_dict(about.rule)
    return ContinuousParts(
        about.name, spaces, layers, about.dimensions, rule, about.limit, about.curve
    )
