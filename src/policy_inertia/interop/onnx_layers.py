"""Networks as ONNX nodes, with one row for each kind of layer and for each activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.networks.layers import (
    Activation,
    Branches,
    ChannelsFirst,
    ChannelsLast,
    Conv,
    Flatten,
    Layers,
    Linear,
    OneHot,
    Rescale,
    memory_names,
)
from policy_inertia.networks.memory_layers import FrameStack, Lstm

ACTIVATION_NODES: dict[str, Callable[[GraphBuilder, str], str]] = {
    "ReLU": lambda graph, x: graph.add("Relu", x),
    "Tanh": lambda graph, x: graph.add("Tanh", x),
    "Sigmoid": lambda graph, x: graph.add("Sigmoid", x),
    "SiLU": lambda graph, x: graph.add("Mul", x, graph.add("Sigmoid", x)),
    "ELU": lambda graph, x: graph.add("Elu", x, alpha=1.0),
    "LeakyReLU": lambda graph, x: graph.add("LeakyRelu", x, alpha=0.01),
}
"""`networks.layers.ACTIVATIONS`, by the same names."""


def _linear(graph: GraphBuilder, layer: Linear, x: str) -> str:
    return graph.add("Gemm", x, graph.constant(layer.w), graph.constant(layer.b))


def _convolution(graph: GraphBuilder, layer: Conv, x: str) -> str:
    w, b = graph.constant(layer.w), graph.constant(layer.b)
    return graph.add("Conv", x, w, b, strides=[layer.stride, layer.stride])


def _rescale(graph: GraphBuilder, layer: Rescale, x: str) -> str:
    x = graph.add("Sub", x, graph.constant(layer.mean))
    x = graph.add("Div", x, graph.constant(layer.std))
    if layer.clip is None:
        return x
    return graph.add("Clip", x, graph.constant(-layer.clip), graph.constant(layer.clip))


def _branches(graph: GraphBuilder, layer: Branches, x: str) -> str:
    outputs = []
    for part in layer.parts:
        ends = (graph.integers([part.start]), graph.integers([part.stop]), graph.integers([1]))
        own = graph.add("Slice", x, *ends)
        if len(part.shape) > 1:
            own = graph.add("Reshape", own, graph.integers([-1, *part.shape]))
        own = add_network(graph, part.layers, own)
        outputs.append(graph.add("Flatten", own, axis=1))
    return graph.add("Concat", *outputs, axis=1)


LAYER_NODES: dict[type, Callable[[GraphBuilder, Any, str], str]] = {
    Linear: _linear,
    Conv: _convolution,
    Rescale: _rescale,
    Activation: lambda graph, layer, x: ACTIVATION_NODES[layer.name](graph, x),
    Flatten: lambda graph, layer, x: graph.add("Flatten", x, axis=1),
    ChannelsFirst: lambda graph, layer, x: graph.add("Transpose", x, perm=[0, 3, 1, 2]),
    ChannelsLast: lambda graph, layer, x: graph.add("Transpose", x, perm=[0, 2, 3, 1]),
    Branches: _branches,
    OneHot: lambda graph, layer, x: graph.one_hot(graph.column(x), layer.n, layer.first),
}
"""From graph, layer and the name of its input to the name of its output."""


MemoryNodes = tuple[str, dict[str, str]]
"""The name of a layer's output, and of what it remembers from now on."""


def _lstm(graph: GraphBuilder, layer: Lstm, x: str, memory: dict[str, str]) -> MemoryNodes:
    def gate(i: int) -> str:
        at = slice(i * layer.size, (i + 1) * layer.size)
        own = graph.add("Gemm", x, graph.constant(layer.w_x[:, at]), graph.constant(layer.b[at]))
        zero = graph.constant(np.zeros(layer.size, np.float32))
        last = graph.add("Gemm", memory["hidden"], graph.constant(layer.w_h[:, at]), zero)
        return graph.add("Add", own, last)

    enter, forget, leave = (graph.add("Sigmoid", gate(i)) for i in (0, 1, 3))
    new = graph.add("Mul", enter, graph.add("Tanh", gate(2)))
    cell = graph.add("Add", graph.add("Mul", forget, memory["cell"]), new)
    hidden = graph.add("Mul", leave, graph.add("Tanh", cell))
    return hidden, {"hidden": hidden, "cell": cell}


def _frame_stack(
    graph: GraphBuilder, layer: FrameStack, x: str, memory: dict[str, str]
) -> MemoryNodes:
    axis, size = layer.axis + 1, layer.shape[layer.axis]
    joined = graph.add("Concat", memory["frames"], x, axis=axis)
    later = graph.integers(range(size, layer.n * size))
    return joined, {"frames": graph.add("Gather", joined, later, axis=axis)}


MEMORY_NODES: dict[type, Callable[[GraphBuilder, Any, str, dict[str, str]], MemoryNodes]] = {
    Lstm: _lstm,
    FrameStack: _frame_stack,
}
"""The same for layers that remember; the last argument names the parts of their memory."""


def add_remembering(graph: GraphBuilder, layers: Layers, x: str, start: str) -> MemoryNodes:
    """Add a network that may remember.

    Args:
        graph: The graph, whose inputs have the names of `networks.layers.memory_shapes`.
        layers: The network.
        x: The name of its input.
        start: The name of a column of booleans: whether an episode begins, without a memory.

    Returns:
        The name of its output, and of what it remembers from now on.
    """
    after: dict[str, str] = {}
    names = iter(memory_names(layers))
    for layer in layers:
        if not isinstance(layer, Lstm | FrameStack):
            x = add_network(graph, (layer,), x)
            continue
        own = next(names)
        memory = {}
        for part, name in own.items():
            rows = graph.integers([-1, *(1 for _ in layer.memory[part])])
            begins = graph.add("Reshape", start, rows)
            memory[part] = graph.add("Where", begins, graph.constant(0.0), name)
        x, new = MEMORY_NODES[type(layer)](graph, layer, x, memory)
        after |= {own[part]: result for part, result in new.items()}
    return x, after


def add_network(graph: GraphBuilder, layers: Layers, x: str) -> str:
    """Add a network; its output is the one that `networks.layers.run` computes."""
    for layer in layers:
        x = LAYER_NODES[type(layer)](graph, layer, x)
    return x


def twin_values(graph: GraphBuilder, twins: list[str], mean: bool) -> str:
    """`ValuedConfig.joined`: the lower value of twin critics, or their mean."""
    if not mean:
        return graph.add("Min", *twins)
    return graph.add("Mul", graph.add("Add", *twins), graph.constant(0.5))
