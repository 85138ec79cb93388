"""Layers in a file: arrays by name, and everything else as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from policy_inertia.errors import InputError, nearest
from policy_inertia.networks.layers import Branch, Branches, Layer, Layers, SimpleLayer
from policy_inertia.schema import read_as


def store(
    layers: Layers, prefix: str = "core"
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Describe layers for a file.

    Returns:
        The arrays by name, such as `core.0.w`; and for each layer its kind and other fields, which
        JSON can hold.
    """
    arrays: dict[str, np.ndarray] = {}
    kinds: list[dict[str, Any]] = []
    for i, layer in enumerate(layers):
        kind: dict[str, Any] = {"kind": type(layer).__name__}
        if isinstance(layer, Branches):
            kind["parts"] = []
            for j, part in enumerate(layer.parts):
                own, inner = store(part.layers, f"{prefix}.{i}.{j}")
                arrays |= own
                about = {"start": part.start, "stop": part.stop, "shape": part.shape}
                kind["parts"].append({**about, "layers": inner})
            kinds.append(kind)
            continue
        for name, value in vars(layer).items():
            if isinstance(value, np.ndarray | np.generic):
                arrays[f"{prefix}.{i}.{name}"] = np.asarray(value)
            else:
                kind[name] = value
        kinds.append(kind)
    return arrays, kinds


@dataclass(frozen=True)
class _StoredBranch:
    start: int
    stop: int
    shape: tuple[int, ...]
    layers: list[dict[str, Any]]


def restore(
    arrays: dict[str, np.ndarray], kinds: list[dict[str, Any]], prefix: str = "core"
) -> Layers:
    """Build layers from a description, the inverse of `store`.

    Raises:
        InputError: A kind of layer is unknown, or a field is missing or wrong.
    """
    # a branch neither branches nor remembers
    kinds_here = get_args(Layer if prefix == "core" else SimpleLayer)
    known: dict[str, Any] = {cls.__name__: cls for cls in kinds_here}
    layers: list[Layer] = []
    for i, description in enumerate(kinds):
        start = f"{prefix}.{i}."
        weights = {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
        plain = dict(description)
        name = str(plain.pop("kind", ""))
        if name not in known:
            raise InputError(f"layer {i} is of kind '{name[:60]}'{nearest(name, known)}")
        if name == Branches.__name__:
            stored = read_as(list[_StoredBranch], plain.get("parts"), f"layer {i}")
            parts = (
                Branch(b.start, b.stop, b.shape, restore(arrays, b.layers, f"{prefix}.{i}.{j}"))
                for j, b in enumerate(stored)
            )
            layers.append(Branches(tuple(parts)))
            continue
        layers.append(read_as(known[name], plain, f"layer {i}", **weights))
    return tuple(layers)
