"""Observations as inputs of an ONNX file: one input, or one for each entry of a Dict."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.envs.dict_observations import Entry, unflatten
from policy_inertia.envs.spaces import Spaces
from policy_inertia.interop.onnx_form import OBSERVATION, Tensor
from policy_inertia.interop.onnx_graph import GraphBuilder


def observation_type(spaces: Spaces) -> Any:
    """The type of observations that are one array."""
    return np.float32 if spaces.n_states is None else np.int64


def entry_input(entry: Entry) -> str:
    """The name of the input for an entry of a Dict."""
    return f"{OBSERVATION}_{entry.name}"


def observation_inputs(spaces: Spaces) -> dict[str, Tensor]:
    """The inputs of a file that hold the observation."""
    if not spaces.entries:
        return {OBSERVATION: Tensor(observation_type(spaces), spaces.obs_shape)}
    return {
        entry_input(entry): Tensor(np.int64 if entry.choices else np.float32, entry.shape)
        for entry in spaces.entries
    }


def observation_feed(spaces: Spaces, obs: np.ndarray) -> dict[str, np.ndarray]:
    """A batch of observations as these inputs; Dict observations are given as vectors."""
    arrays = {OBSERVATION: obs}
    if spaces.entries:
        values = unflatten(spaces.entries, obs)
        arrays = {entry_input(entry): values[entry.name] for entry in spaces.entries}
    return {name: arrays[name].astype(t.dtype) for name, t in observation_inputs(spaces).items()}


def add_observation(graph: GraphBuilder, spaces: Spaces) -> None:
    """Add the vector of a Dict observation under the name `OBSERVATION`."""
    if spaces.entries:
        parts = [part for entry in spaces.entries for part in _columns(graph, entry)]
        graph.add("Concat", *parts, axis=1, output=OBSERVATION)


def _columns(graph: GraphBuilder, entry: Entry) -> list[str]:
    """The numbers of one entry, as matrices with one row for each observation."""
    name = entry_input(entry)
    rows = graph.add("Flatten", name, axis=1) if entry.shape else graph.column(name)
    if not entry.choices:
        return [rows]
    return [
        graph.one_hot(graph.add("Gather", rows, graph.integers([i]), axis=1), n, entry.first)
        for i, n in enumerate(entry.choices)
    ]
