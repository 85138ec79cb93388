"""Perceptrons in ONNX files as layers, so that a core from such a file can be saved and exported.

A chain of matrix products, activations and arithmetic with constants is read, as rsl_rl and others
write it. Whatever else a file holds, it is run by onnxruntime alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.interop.onnx_file import OnnxFile
from policy_inertia.networks.layers import (
    Activation,
    Flatten,
    Layer,
    Layers,
    Linear,
    Rescale,
    into_bounds,
    output_shape,
)
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.probing import example_observations

Constants = list[np.ndarray]
Reader = Callable[[Constants, dict[str, Any]], list[Layer] | None]
"""From the constants behind the input and the attributes to layers; None if they are not known."""

COMPARED = 64
"""Observations on which the layers are compared with the file."""
TOLERANCE = 1e-4
"""Of an action, as a share of half its range."""
ONE, ZERO = np.ones((), np.float32), np.zeros((), np.float32)


def _gemm(constants: Constants, attributes: dict[str, Any]) -> list[Layer] | None:
    if attributes.get("transA") or {attributes.get(name, 1.0) for name in ("alpha", "beta")} != {1}:
        return None
    w, *b = constants
    return _linear(w.T if attributes.get("transB") else w, *b)


def _linear(w: np.ndarray, b: np.ndarray | None = None) -> list[Layer] | None:
    if w.ndim != 2 or (b is not None and b.size not in (1, w.shape[1])):
        return None
    bias = np.zeros(w.shape[1]) if b is None else np.broadcast_to(b.reshape(-1), w.shape[1:])
    return [Linear(*(np.ascontiguousarray(x, np.float32) for x in (w, bias)))]


def _clip(constants: Constants, attributes: dict[str, Any]) -> list[Layer] | None:
    if len(constants) != 2 or attributes:
        return None
    low, high = (_row(bound) for bound in constants)
    middle, half = (low + high) / 2, (high - low) / 2
    if not (np.isfinite(half).all() and (half > 0).all()):
        return None
    return [Rescale(middle, half, 1.0), Rescale(-middle / half, 1 / half)]


def _row(constant: np.ndarray) -> np.ndarray:
    """A constant as a number or as one row."""
    shape = () if constant.size == 1 else (-1,)
    return np.asarray(constant.reshape(shape), np.float32)


def _scale(constant: np.ndarray, divides: bool) -> list[Layer] | None:
    factor = _row(constant)
    if not (factor != 0).all():
        return None
    return [Rescale(ZERO, factor if divides else 1 / factor)]


def _activation(name: str, **expected: float) -> Reader:
    def read(constants: Constants, attributes: dict[str, Any]) -> list[Layer] | None:
        values = {**expected, **attributes}
        same = all(abs(values[key] - value) < 1e-6 for key, value in expected.items())
        return [Activation(name)] if same and not constants else None

    return read


READERS: dict[str, Reader] = {
    "Add": lambda constants, _: [Rescale(-_row(constants[0]), ONE)],
    "Clip": _clip,
    "Div": lambda constants, _: _scale(constants[0], divides=True),
    "Elu": _activation("ELU", alpha=1.0),
    "Flatten": lambda _, attributes: [Flatten()] if attributes.get("axis", 1) == 1 else None,
    "Gemm": _gemm,
    "Identity": lambda _, __: [],
    "LeakyRelu": _activation("LeakyReLU", alpha=0.01),
    "MatMul": lambda constants, _: _linear(constants[0]),
    "Mul": lambda constants, _: _scale(constants[0], divides=False),
    "Relu": _activation("ReLU"),
    "Sigmoid": _activation("Sigmoid"),
    "Sub": lambda constants, _: [Rescale(_row(constants[0]), ONE)],
    "Tanh": _activation("Tanh"),
}
"""How operators become layers, by ONNX's names."""
COMMUTES = ("Add", "Mul")
"""Operators whose constant may stand in front."""


def with_network(
    core: ContinuousCore, file: OnnxFile, output: str, statistics: Layer | None, clip: bool
) -> ContinuousCore:
    """The core of a file with its network as layers, which NumPy runs; as it is if they are not
    known.

    Args:
        core: What onnxruntime runs.
        file: The file.
        output: The output that holds the actions.
        statistics: VecNormalize's layer in front of the network.
        clip: Whether the actions are clipped to their bounds.
    """
    network = read_layers(file, output) if core.spaces.n_states is None else None
    if network is None:
        return core
    before = () if statistics is None else (statistics,)
    behind = into_bounds(core.actions, squashed=False) if clip else []
    layers = (*before, Flatten(), *network, *behind)
    try:
        if output_shape(layers, core.spaces.obs_shape) != core.actions.shape:
            return core
        known = ContinuousCore.from_layers(core.name, core.spaces, layers, core.space)
    except InputError:  # its constants have other shapes, or it leaves the bounds
        return core
    obs = example_observations(core.space, COMPARED)
    same = np.allclose(known.output(obs), core.output(obs), rtol=0, atol=TOLERANCE)
    return known if same else core


def read_layers(file: OnnxFile, output: str) -> Layers | None:
    """The network between the only input of a file and one of its outputs.

    Returns:
        Its layers, from flat observations on; None if it is not a chain of known operators.
    """
    constants = _constants(file)
    producers = {name: node for node in file.nodes for name in node.output}
    layers: list[Layer] = []
    name, first = output, file.inputs[0].name
    for _ in range(len(file.nodes)):
        if name == first:
            break
        node = producers[name]
        inputs = list(node.input)
        if node.op_type in COMMUTES and inputs[0] in constants:
            inputs.reverse()
        if node.op_type not in READERS or not all(x in constants for x in inputs[1:]):
            return None
        attributes = {a.name: file.onnx.helper.get_attribute_value(a) for a in node.attribute}
        part = READERS[node.op_type]([constants[x] for x in inputs[1:]], attributes)
        if part is None:
            return None
        layers = [*part, *layers]
        name = inputs[0]
    # an activation would change the observations themselves
    changes = next((isinstance(x, Activation) for x in layers if not isinstance(x, Flatten)), True)
    return tuple(layers) if name == first and not changes else None


def _constants(file: OnnxFile) -> dict[str, np.ndarray]:
    """The numbers of a file by name: its initialisers, and the values of Constant nodes."""
    to_array = file.onnx.numpy_helper.to_array
    arrays = {tensor.name: to_array(tensor) for tensor in file.model.graph.initializer}
    for node in file.nodes:
        values = [a.t for a in node.attribute if a.name == "value"]
        if node.op_type == "Constant" and values:
            arrays[node.output[0]] = to_array(values[0])
    return arrays
