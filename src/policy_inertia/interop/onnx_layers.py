"""Networks as ONNX nodes, with one row for each kind of layer and for each activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
)

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


def add_network(graph: GraphBuilder, layers: Layers, x: str) -> str:
    """Add a network; its output is the one that `networks.layers.run` computes."""
    for layer in layers:
        x = LAYER_NODES[type(layer)](graph, layer, x)
    return x
