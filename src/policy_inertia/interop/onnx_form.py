"""What the export of a policy needs to know of its kind of actions.

Each kind has a file with a `Form`: `onnx_discrete.py` and `onnx_box.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from policy_inertia.interop.description import PolicyDescription
from policy_inertia.interop.onnx_graph import GraphBuilder

OBSERVATION = "observation"
"""The name of an input."""
MASKS = "action_masks"
"""The name of an input: which actions are allowed, for policies that were trained with masks."""
FEATURES = "core_features"
"""The name of the core's features, where a controller sees them instead of the observation."""


class Tensor(NamedTuple):
    """An input or output of a file."""

    dtype: Any
    shape: tuple[int, ...]
    """Of one row."""
    batch: str = "batch"
    """The name of the number of rows."""


class Form(NamedTuple):
    """How policies with one kind of actions become a graph."""

    add: Callable[[GraphBuilder, PolicyDescription], dict[str, str]]
    """Adds a whole policy. Returns the names of its results by output: those of `outputs`, and
    "next_<field>" for each field of its memory other than the previous action."""
    outputs: Callable[[PolicyDescription], dict[str, Tensor]]
    """The outputs that are not memory; "action" is among them."""
    metadata: Callable[[PolicyDescription], dict[str, Any]]
    """What a file says about the actions."""
    compare: Callable[[Any, PolicyDescription, Path, bytes, int], tuple[float, int]]
    """Compares a file with its policy on so many random inputs; see `onnx_discrete.compare`."""
