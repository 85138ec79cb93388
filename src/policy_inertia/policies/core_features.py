"""The features of a core: the vector before its last layer, which a controller may look at.

A controller that sees them needs no network of its own for pixels, and knows what a core remembers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.algorithms.interface import Acting
from policy_inertia.networks.layers import (
    Layers,
    Linear,
    memory_shapes,
    output_shape,
    run_with_memory,
)


class Consulted(NamedTuple):
    """What a core says about a batch of observations."""

    acting: Acting
    features: np.ndarray
    memory: dict[str, np.ndarray]
    """What it remembers from now on."""


def run_core(
    layers: Layers, obs: Any, memory: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The output of a core's network, its features, and its memory afterwards.

    Args:
        layers: The network.
        obs: A batch of the env's observations.
        memory: The memory, among other things perhaps; zeros where it is missing.
    """
    shapes = memory_shapes(layers)
    known = {
        name: memory[name] if name in memory else np.zeros((len(obs), *shape), np.float32)
        for name, shape in shapes.items()
    }
    features, after = run_with_memory(layers[:-1], obs, known)
    return layers[-1](features), features, after


def feature_count(layers: Layers | None, obs_shape: tuple[int, ...]) -> int:
    """How many features a core has; 0 if its network is not known or has no last linear layer."""
    if not layers or not isinstance(layers[-1], Linear):
        return 0
    return math.prod(output_shape(layers[:-1], obs_shape))
