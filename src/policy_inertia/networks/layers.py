"""A trained network as a list of layers, which NumPy runs and `onnx.py` writes as a graph.

Other people's networks come from shapes alone, so only a few kinds of layers are needed. NumPy runs
convolutions too: a Nature CNN is three products of matrices, and a second runtime for the same
weights would have to be kept in step with the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from policy_inertia.networks.convolution import LAYERS
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.types import Tree


@dataclass(frozen=True)
class Linear:
    """x @ w + b, with w (inputs, outputs)."""

    w: np.ndarray
    b: np.ndarray


@dataclass(frozen=True)
class Conv:
    """A convolution of (B, C, H, W) without padding; w (filters, C, height, width)."""

    w: np.ndarray
    b: np.ndarray
    stride: int


@dataclass(frozen=True)
class Activation:
    """One of ACTIVATIONS, by PyTorch's name of it."""

    name: str


@dataclass(frozen=True)
class Flatten:
    """(B, ...) -> (B, size)."""


@dataclass(frozen=True)
class ChannelsFirst:
    """(B, H, W, C) -> (B, C, H, W)."""


@dataclass(frozen=True)
class ChannelsLast:
    """(B, C, H, W) -> (B, H, W, C)."""


@dataclass(frozen=True)
class Rescale:
    """(x - mean) / std, kept within +-clip: VecNormalize, or an image's division by 255."""

    mean: np.ndarray
    std: np.ndarray
    clip: float | None = None


@dataclass(frozen=True)
class OneHot:
    """A Discrete observation, counted from `first`, as a row of the identity."""

    n: int
    first: int = 0


Layer = Linear | Conv | Activation | Flatten | ChannelsFirst | ChannelsLast | Rescale | OneHot
Layers = tuple[Layer, ...]

# they may write into their argument, which is the output of a layer and nobody else's
ZERO = np.float32(0)  # faster than a number of Python's
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ReLU": lambda x: np.maximum(x, ZERO, out=x),
    "Tanh": lambda x: np.tanh(x, out=x),
    "Sigmoid": lambda x: _sigmoid(x),
    "SiLU": lambda x: x * _sigmoid(x),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "LeakyReLU": lambda x: np.maximum(x, np.float32(0.01) * x),
}


def run(layers: Layers, x: Any) -> np.ndarray:
    """The network's output for a batch, in float32."""
    for layer in layers:
        match layer:
            case Linear():
                x = x @ layer.w
                x += layer.b
            case Activation():
                x = ACTIVATIONS[layer.name](x)
            case Flatten():
                x = np.asarray(x, np.float32).reshape(len(x), -1)
            case Rescale():
                x = (x - layer.mean) / layer.std
                if layer.clip is not None:
                    x = np.clip(x, -layer.clip, layer.clip)
                x = np.asarray(x, np.float32)
            case Conv():
                x = _convolve(layer, np.asarray(x, np.float32))
            case ChannelsFirst():
                x = np.moveaxis(x, -1, 1)
            case ChannelsLast():
                x = np.moveaxis(x, 1, -1)
            case OneHot():
                x = one_hot(np.asarray(x) - layer.first, layer.n, np)
    return x


def perceptron(params: Tree) -> Layers:
    """One of our own networks (see `algorithms.networks.mlp`), behind a flat input."""
    layers: list[Layer] = []
    for layer in params:
        w, b = np.asarray(layer["w"]), np.asarray(layer["b"])
        layers += [Linear(w, b.reshape(-1)), Activation("ReLU")]
    return tuple(layers[:-1])


def convolutions(params: Tree) -> Layers:
    """Our convolutions (see `algorithms.convolution`) over images of bytes, channels first."""
    layers: list[Layer] = [Rescale(np.zeros((), np.float32), np.full((), 255, np.float32))]
    for i, (layer, (filters, kernel, stride)) in enumerate(zip(params, LAYERS, strict=True)):
        w, blocks = np.asarray(layer["w"]), kernel // stride
        if i == 0:  # see `init_torso` for the order of the rows
            w = w.reshape(blocks, blocks, -1, stride, stride, filters).transpose(5, 2, 0, 3, 1, 4)
            w = w.reshape(filters, -1, kernel, kernel)
        else:
            w = w.reshape(kernel, kernel, -1, filters).transpose(3, 2, 0, 1)
        layers += [Conv(w, np.asarray(layer["b"]).reshape(-1), stride), Activation("ReLU")]
    return (*layers, ChannelsLast(), Flatten())


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1)  # never overflows


def _convolve(layer: Conv, x: np.ndarray) -> np.ndarray:
    filters, _, height, width = layer.w.shape
    windows = sliding_window_view(x, (height, width), axis=(2, 3))
    windows = windows[:, :, :: layer.stride, :: layer.stride]  # (B, C, H', W', height, width)
    n, _, rows, columns = windows.shape[:4]
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * rows * columns, -1)
    y = patches @ layer.w.reshape(filters, -1).T + layer.b
    return y.reshape(n, rows, columns, filters).transpose(0, 3, 1, 2)


def store(layers: Layers) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Layers as named arrays, and what is left of them as JSON."""
    arrays, kinds = {}, []
    for i, layer in enumerate(layers):
        kind: dict[str, Any] = {"kind": type(layer).__name__}
        for name, value in vars(layer).items():
            if isinstance(value, np.ndarray | np.generic):
                arrays[f"core.{i}.{name}"] = np.asarray(value)
            else:
                kind[name] = value
        kinds.append(kind)
    return arrays, kinds


def restore(arrays: dict[str, np.ndarray], kinds: list[dict[str, Any]]) -> Layers:
    """The inverse of `store`; a KeyError or TypeError where something is amiss."""
    known = {cls.__name__: cls for cls in get_args(Layer)}
    layers = []
    for i, kind in enumerate(kinds):
        own = {k.split(".")[2]: a for k, a in arrays.items() if k.startswith(f"core.{i}.")}
        plain = {name: value for name, value in kind.items() if name != "kind"}
        layers.append(known[kind["kind"]](**own, **plain))
    return tuple(layers)
