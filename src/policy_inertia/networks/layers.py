"""A trained network as a list of layers, which NumPy runs and which can be written as ONNX.

Networks from other programs are recognised by the shapes of their weights, so a few kinds of layers
are enough. NumPy runs convolutions too: a Nature CNN is three matrix products, and a second runtime
would need a second copy of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError
from policy_inertia.networks.convolution import convolutions_for
from policy_inertia.networks.memory_layers import MemoryLayer
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.types import LayerParams

Shape = tuple[int, ...]
State = dict[str, np.ndarray]

_ZERO = np.float32(0)  # faster than a Python number

# They may write into their argument, which is always the fresh output of a layer.
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ReLU": lambda x: np.maximum(x, _ZERO, out=x),
    "Tanh": lambda x: np.tanh(x, out=x),
    "Sigmoid": lambda x: _sigmoid(x),
    "SiLU": lambda x: x * _sigmoid(x),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "LeakyReLU": lambda x: np.maximum(x, np.float32(0.01) * x),
}
"""Activation functions by their PyTorch names."""


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1)  # never overflows


@dataclass(frozen=True)
class Linear:
    """x @ w + b, with w (inputs, outputs)."""

    w: np.ndarray
    b: np.ndarray

    def __call__(self, x: Any) -> np.ndarray:
        x = x @ self.w
        x += self.b
        return x

    def output_shape(self, shape: Shape) -> Shape | None:
        fits = self.w.ndim == 2 and shape[-1:] == self.w.shape[:1]
        return (*shape[:-1], self.w.shape[1]) if fits and self.b.shape == self.w.shape[1:] else None


@dataclass(frozen=True)
class Conv:
    """A convolution of (B, C, H, W) without padding, with w (filters, C, height, width)."""

    w: np.ndarray
    b: np.ndarray
    stride: int

    def __call__(self, x: Any) -> np.ndarray:
        x = np.asarray(x, np.float32)
        filters, _, height, width = self.w.shape
        windows = sliding_window_view(x, (height, width), axis=(2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride]  # (B, C, H', W', height, width)
        n, _, rows, columns = windows.shape[:4]
        patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * rows * columns, -1)
        y = patches @ self.w.reshape(filters, -1).T + self.b
        return y.reshape(n, rows, columns, filters).transpose(0, 3, 1, 2)

    def output_shape(self, shape: Shape) -> Shape | None:
        if self.w.ndim != 4 or len(shape) != 3 or self.stride < 1:
            return None
        filters, channels, *kernel = self.w.shape
        sides = tuple((n - k) // self.stride + 1 for n, k in zip(shape[1:], kernel, strict=True))
        fits = channels == shape[0] and min(*kernel, *sides) > 0 and self.b.shape == (filters,)
        return (filters, *sides) if fits else None


@dataclass(frozen=True)
class Activation:
    """One of `ACTIVATIONS`."""

    name: str

    def __call__(self, x: Any) -> np.ndarray:
        return ACTIVATIONS[self.name](x)

    def output_shape(self, shape: Shape) -> Shape | None:
        return shape if self.name in ACTIVATIONS else None


@dataclass(frozen=True)
class Flatten:
    """(B, ...) -> (B, size)."""

    def __call__(self, x: Any) -> np.ndarray:
        return np.asarray(x, np.float32).reshape(len(x), -1)

    def output_shape(self, shape: Shape) -> Shape | None:
        return (math.prod(shape),)


@dataclass(frozen=True)
class ChannelsFirst:
    """(B, H, W, C) -> (B, C, H, W)."""

    def __call__(self, x: Any) -> np.ndarray:
        return np.moveaxis(x, -1, 1)

    def output_shape(self, shape: Shape) -> Shape | None:
        return (shape[-1], *shape[:-1]) if len(shape) == 3 else None


@dataclass(frozen=True)
class ChannelsLast:
    """(B, C, H, W) -> (B, H, W, C)."""

    def __call__(self, x: Any) -> np.ndarray:
        return np.moveaxis(x, 1, -1)

    def output_shape(self, shape: Shape) -> Shape | None:
        return (*shape[1:], shape[0]) if len(shape) == 3 else None


@dataclass(frozen=True)
class Rescale:
    """(x - mean) / std, clipped to +-clip: VecNormalize, or the division of an image by 255."""

    mean: np.ndarray
    std: np.ndarray
    clip: float | None = None

    def __call__(self, x: Any) -> np.ndarray:
        x = (x - self.mean) / self.std
        if self.clip is not None:
            x = np.clip(x, -self.clip, self.clip)
        return np.asarray(x, np.float32)

    def output_shape(self, shape: Shape) -> Shape | None:
        return shape if {self.mean.shape, self.std.shape} <= {(), shape} else None


@dataclass(frozen=True)
class OneHot:
    """A Discrete observation, counted from `first`, as a row of the identity."""

    n: int
    first: int = 0

    def __call__(self, x: Any) -> np.ndarray:
        return np.asarray(one_hot(np.asarray(x) - self.first, self.n, np))

    def output_shape(self, shape: Shape) -> Shape | None:
        return (*shape, self.n) if self.n > 0 else None


@dataclass(frozen=True)
class Branch:
    """The numbers from `start` to `stop` of a vector, as `shape`, through layers of their own."""

    start: int
    stop: int
    shape: Shape
    layers: Layers

    def __call__(self, x: Any) -> np.ndarray:
        return Flatten()(run(self.layers, x[:, self.start : self.stop].reshape(-1, *self.shape)))


@dataclass(frozen=True)
class Branches:
    """(B, size) -> (B, outputs): each branch for itself, the outputs one behind the other."""

    parts: tuple[Branch, ...]

    def __call__(self, x: Any) -> np.ndarray:
        return np.concatenate([part(x) for part in self.parts], axis=1)

    def output_shape(self, shape: Shape) -> Shape | None:
        if len(shape) != 1 or not self.parts:
            return None
        sizes = []
        for part in self.parts:
            inside = 0 <= part.start < part.stop <= shape[0]
            if not inside or math.prod(part.shape) != part.stop - part.start:
                return None
            sizes.append(math.prod(output_shape(part.layers, part.shape)))
        return (sum(sizes),)


SimpleLayer = Linear | Conv | Activation | Flatten | ChannelsFirst | ChannelsLast | Rescale | OneHot
PlainLayer = SimpleLayer | Branches
Layer = PlainLayer | MemoryLayer
Layers = tuple[Layer, ...]


def run(layers: Layers, x: Any) -> np.ndarray:
    """Compute the output of a network for a batch, in float32.

    Layers that remember act as at the start of an episode.
    """
    for layer in layers:
        x = layer(x)
    return x


def run_with_memory(layers: Layers, x: Any, memory: State) -> tuple[np.ndarray, State]:
    """Compute the output of a network, and its memory afterwards.

    Args:
        layers: The network.
        x: A batch of inputs.
        memory: Its memory, by the names of `memory_shapes`.
    """
    after: State = {}
    names = iter(memory_names(layers))
    for layer in layers:
        if isinstance(layer, MemoryLayer):
            own = next(names)
            x, new = layer.step(x, {part: memory[name] for part, name in own.items()})
            after |= {own[part]: values for part, values in new.items()}
        else:
            x = layer(x)
    return x, after


def memory_shapes(layers: Layers) -> dict[str, Shape]:
    """The names of a network's memory, and the shapes of one row; empty if it remembers nothing."""
    remembering = [layer for layer in layers if isinstance(layer, MemoryLayer)]
    return {
        name: layer.memory[part]
        for layer, names in zip(remembering, memory_names(layers), strict=True)
        for part, name in names.items()
    }


def memory_names(layers: Layers) -> list[dict[str, str]]:
    """For each layer that remembers: its parts, and their names in the network's memory."""
    names: list[dict[str, str]] = []
    for layer in layers:
        if isinstance(layer, MemoryLayer):
            end = f"_{len(names)}" if names else ""
            names.append({part: f"core_{part}{end}" for part in layer.memory})
    return names


def perceptron(params: list[LayerParams]) -> Layers:
    """One of our perceptrons as layers (see `networks.perceptron.mlp`); its input is flat."""
    layers: list[Layer] = []
    for layer in params:
        w, b = np.asarray(layer["w"]), np.asarray(layer["b"])
        layers += [Linear(w, b.reshape(-1)), Activation("ReLU")]
    return tuple(layers[:-1])


def convolutions(params: list[LayerParams], image: tuple[int, int, int]) -> Layers:
    """Our convolutions as layers (see `networks.convolution`); their input is from 0 to 1.

    Args:
        params: Layers from `init_torso`.
        image: Channels, height and width.
    """
    layers: list[Layer] = []
    rows = convolutions_for(image).layers
    for i, (layer, (filters, kernel, stride)) in enumerate(zip(params, rows, strict=True)):
        w, blocks = np.asarray(layer["w"]), kernel // stride
        if i == 0:  # `init_torso` describes the order of the rows
            w = w.reshape(blocks, blocks, -1, stride, stride, filters).transpose(5, 2, 0, 3, 1, 4)
            w = w.reshape(filters, -1, kernel, kernel)
        else:
            w = w.reshape(kernel, kernel, -1, filters).transpose(3, 2, 0, 1)
        layers += [Conv(w, np.asarray(layer["b"]).reshape(-1), stride), Activation("ReLU")]
    return (*layers, ChannelsLast(), Flatten())


def into_bounds(actions: Box, squashed: bool) -> list[Layer]:
    """The last steps of an actor: tanh and scaling to the bounds, or clipping to the bounds."""
    middle, half = (x.astype(np.float32) for x in (actions.middle, actions.half_range))
    to_env = Rescale(-middle / half, 1 / half)
    return [Activation("Tanh") if squashed else Rescale(middle, half, 1.0), to_env]


BYTES = Rescale(np.zeros((), np.float32), np.full((), 255, np.float32))
"""From bytes to numbers from 0 to 1."""


def output_shape(layers: Layers, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of one output, from the shape of one input, without running the layers.

    Raises:
        InputError: A layer does not take what the layer before it gives.
    """
    for i, layer in enumerate(layers):
        after = layer.output_shape(shape)
        if after is None:
            raise InputError(
                f"layer {i}, {type(layer).__name__}, cannot take an input of shape {list(shape)}: "
                "expected layers that fit"
            )
        shape = after
    return shape
