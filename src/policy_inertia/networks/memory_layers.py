"""Layers that remember: what they return depends on the inputs since the episode began.

The memory is a value, as everywhere (`policies/memory.py`): each layer names its arrays, which hold
float32 and are zeros at the start of an episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]
MOST_FRAMES = 100
"""That a `FrameStack` may join."""


@dataclass(frozen=True)
class Lstm:
    """One layer of PyTorch's LSTM, with w_x (inputs, 4 n), w_h (n, 4 n) and b (4 n,).

    The four parts are the gates: input, forget, cell, output.
    """

    w_x: np.ndarray
    w_h: np.ndarray
    b: np.ndarray

    @property
    def size(self) -> int:
        """How many numbers it returns."""
        return len(self.w_h)

    @property
    def memory(self) -> dict[str, Shape]:
        """The shapes of its arrays, of one row."""
        return {"hidden": (self.size,), "cell": (self.size,)}

    def __call__(self, x: Any) -> np.ndarray:
        return self.step(x, _zeros(self, len(x)))[0]

    def step(self, x: Any, memory: dict[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        """Its output for a batch, and the memory afterwards."""
        gates = np.asarray(x, np.float32) @ self.w_x + memory["hidden"] @ self.w_h + self.b
        enter, forget, value, leave = np.split(gates, 4, axis=1)
        cell = _sigmoid(forget) * memory["cell"] + _sigmoid(enter) * np.tanh(value)
        hidden = _sigmoid(leave) * np.tanh(cell)
        return hidden.copy(), {"hidden": hidden, "cell": cell}  # a layer may write into its input

    def output_shape(self, shape: Shape) -> Shape | None:
        if self.w_x.ndim != 2 or self.w_h.ndim != 2 or shape != self.w_x.shape[:1]:
            return None
        widths = {self.w_x.shape[1:], self.w_h.shape[1:], self.b.shape}
        return (self.size,) if self.size and widths == {(4 * self.size,)} else None


@dataclass(frozen=True)
class FrameStack:
    """The last `n` inputs of shape `shape` joined along `axis`: SB3's VecFrameStack.

    The newest is the last; before the first input there are zeros.
    """

    n: int
    shape: Shape
    axis: int

    @property
    def memory(self) -> dict[str, Shape]:
        """The shapes of its arrays, of one row."""
        return {"frames": self._joined(self.n - 1)}

    def _joined(self, n: int) -> Shape:
        return tuple(size * n if i == self.axis else size for i, size in enumerate(self.shape))

    def __call__(self, x: Any) -> np.ndarray:
        return self.step(x, _zeros(self, len(x)))[0]

    def step(self, x: Any, memory: dict[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        """Its output for a batch, and the memory afterwards."""
        axis = self.axis + 1
        joined = np.concatenate([memory["frames"], np.asarray(x, np.float32)], axis=axis)
        _, later = np.split(joined, [self.shape[self.axis]], axis=axis)
        return joined, {"frames": later.copy()}

    def output_shape(self, shape: Shape) -> Shape | None:
        fits = 0 <= self.axis < len(self.shape) and shape == self.shape and math.prod(shape) > 0
        return self._joined(self.n) if fits and 1 < self.n <= MOST_FRAMES else None


MemoryLayer = Lstm | FrameStack


def _zeros(layer: MemoryLayer, n: int) -> dict[str, np.ndarray]:
    return {part: np.zeros((n, *shape), np.float32) for part, shape in layer.memory.items()}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1))  # never overflows
