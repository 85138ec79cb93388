"""Networks as C functions, with one row for each kind of layer and for each activation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.interop.c_code import CodeBuilder, fill, literal
from policy_inertia.networks.layers import (
    Activation,
    Flatten,
    Layers,
    Linear,
    OneHot,
    Rescale,
)

Written = tuple[str, int]

ACTIVATION_CODE: dict[str, str] = {
    "ReLU": "x < 0.0f ? 0.0f : x",  # what is no number stays none, as in Python
    "Tanh": "tanhf(x)",
    "Sigmoid": "0.5f * (tanhf(0.5f * x) + 1.0f)",
    "SiLU": "x * (0.5f * (tanhf(0.5f * x) + 1.0f))",
    "ELU": "x > 0.0f ? x : expm1f(x)",
    "LeakyReLU": "x > 0.0f ? x : 0.01f * x",
}
"""`networks.layers.ACTIVATIONS`, by the same names."""

_ACTIVATION = """
static void $name(float *values, int n)
{
    for (int i = 0; i < n; i++) {
        const float x = values[i];
        values[i] = $expression;
    }
}
"""

_RESCALE = """
static void $name(const float *x, float *y)
{
    for (int i = 0; i < $n; i++) {
        const $type value = (x[i] - $mean) / $std;
        y[i] = (float)$clipped;
    }
}
"""


@dataclass(frozen=True)
class _Copy:
    """Begins a network that would change its input, or that does nothing else."""


def _linear(code: CodeBuilder, layer: Linear, name: str, x: str, y: str, n: int) -> Written:
    code.use("linear")
    w = code.add_array(f"{name}_w", layer.w.astype(np.float32))
    b = code.add_array(f"{name}_b", layer.b.astype(np.float32))
    inputs, outputs = layer.w.shape
    return f"policy_linear({w}, {b}, {inputs}, {outputs}, {x}, {y});", outputs


def _rescale(code: CodeBuilder, layer: Rescale, name: str, x: str, y: str, n: int) -> Written:
    """`Rescale.__call__`: in double precision if the statistics have it, as VecNormalize's do."""
    dtype = np.result_type(layer.mean, layer.std, np.float32)
    at = {}
    for part, values in (("mean", layer.mean), ("std", layer.std)):
        array = code.add_array(f"{name}_{part}", values.astype(dtype))
        at[part] = f"{array}[{'i' if values.size == n else '0'}]"
    clipped = "value"
    if layer.clip is not None:
        clip = literal(dtype.type(layer.clip))
        clipped = f"(value < -{clip} ? -{clip} : value > {clip} ? {clip} : value)"
    kind = "float" if dtype == np.float32 else "double"
    code.add_function(_RESCALE, name=name, n=n, type=kind, clipped=clipped, **at)
    return f"{name}({x}, {y});", n


def _one_hot(code: CodeBuilder, layer: OneHot, name: str, x: str, y: str, n: int) -> Written:
    code.use("one_hot")
    return f"policy_one_hot((int64_t){x} - ({layer.first}), {layer.n}, {y});", layer.n


def _copy(code: CodeBuilder, layer: _Copy, name: str, x: str, y: str, n: int) -> Written:
    code.use("copy")
    return f"policy_copy({x}, {n}, {y});", n


def _activation(code: CodeBuilder, layer: Activation, x: str, n: int) -> str:
    name = f"policy_{layer.name.lower()}"
    code.add_helper(name, fill(_ACTIVATION, name=name, expression=ACTIVATION_CODE[layer.name]))
    return f"{name}({x}, {n});"


WRITES: dict[type, Callable[[CodeBuilder, Any, str, str, str, int], Written]] = {
    Linear: _linear,
    Rescale: _rescale,
    OneHot: _one_hot,
    _Copy: _copy,
}
"""Layers that write a new array. From code, layer, its name, the names of its input and its output
and the size of its input to a statement, and the size of its output."""
CHANGES: dict[type, Callable[[CodeBuilder, Any, str, int], str]] = {Activation: _activation}
"""Layers that change their input. From code, layer, name and size to a statement."""
KEEPS = (Flatten,)
"""Layers that change nothing: arrays are flat in C."""

_NETWORK = """
static void $name($input, float *y)
{
    $body
}
"""


def add_network(
    code: CodeBuilder, name: str, layers: Layers, parameter: str, shape: tuple[int, ...]
) -> int:
    """Add a function `name(x, y)` that computes what `networks.layers.run` does for one input.

    Args:
        code: Where it is added.
        name: The name of the function.
        layers: The network.
        parameter: The declaration of its input, such as "const float *x".
        shape: The shape of one input.

    Returns:
        How many numbers it writes.

    Raises:
        InputError: A layer cannot be written as C.
    """
    refuse_layers(layers)
    steps: list[Any] = [layer for layer in layers if type(layer) not in KEEPS]
    if not steps or type(steps[0]) in CHANGES:
        steps.insert(0, _Copy())
    last = max(i for i, layer in enumerate(steps) if type(layer) in WRITES)
    x, size = parameter.split("*")[-1].split()[-1], math.prod(shape)
    buffers: dict[str, int] = {}
    statements = []
    for i, layer in enumerate(steps):
        if type(layer) in CHANGES:
            statements.append(CHANGES[type(layer)](code, layer, x, size))
            continue
        y = "y" if i == last else "b" if x == "a" else "a"
        statement, size = WRITES[type(layer)](code, layer, f"{name}_{i}", x, y, size)
        statements.append(statement)
        x = y
        if y != "y":
            buffers[y] = max(size, buffers.get(y, 0))
    declared = [f"float {buffer}[{n}];" for buffer, n in buffers.items()]
    code.functions.append(
        fill(_NETWORK, name=name, input=parameter, body="\n    ".join(declared + statements))
    )
    return size


def refuse_layers(layers: Layers) -> None:
    """Check that a network has only layers that can be written as C.

    Raises:
        InputError: It has others.
    """
    for layer in layers:
        unknown = isinstance(layer, Activation) and layer.name not in ACTIVATION_CODE
        if unknown or type(layer) not in {*WRITES, *CHANGES, *KEEPS}:
            name = "Activation" if unknown else type(layer).__name__
            raise InputError(
                f"a network with the layer {name} cannot be written as C, which is for "
                "perceptrons: export it as ONNX"
            )
