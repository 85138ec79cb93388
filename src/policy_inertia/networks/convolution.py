"""The convolutions of the paper's table for Atari, as products of matrices.

A kernel is a whole number of strides wide in every layer of the table, so all patches are slices
joined together: nothing is gathered, and NumPy runs the same lines as JAX. XLA's own convolutions
are slower, and far slower still inside a loop, where the learner runs its updates. What is done
for speed is measured by `benchmarks/atari.py`.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.errors import InputError
from policy_inertia.types import Array, Tree

LAYERS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, kernel, stride."""

FEW = 8
"""Images at a time on a CPU, whose cache holds the patches of so many, for twins of half as many.
For gradients they are made again rather than kept."""


def torso_size(image: tuple[int, int, int]) -> int:
    """How many numbers come out of the last convolution, for images (channels, height, width)."""
    height, width = image[1:]
    for _, kernel, stride in LAYERS:
        height, width = ((n - kernel) // stride + 1 for n in (height, width))
        if min(height, width) < 1:
            raise InputError(
                f"images of {image[1]} x {image[2]} are too small for the convolutions: give at "
                "least 36 x 36, or wrap the env to offer a vector"
            )
    return LAYERS[-1][0] * height * width


def init_torso(
    rng: np.random.Generator, image: tuple[int, int, int], twins: int | None = None
) -> Tree:
    """Weights and biases uniform in +-1/sqrt(fan_in), as PyTorch's default.

    The rows of `w` run over (row, column, channel) of a patch, in the first layer over (block row,
    block column, channel, row and column in the block).
    """
    layers, channels = [], image[0]
    lead = () if twins is None else (twins,)
    for filters, kernel, _ in LAYERS:
        fan_in = kernel * kernel * channels
        bound = fan_in**-0.5
        w = rng.uniform(-bound, bound, (*lead, fan_in, filters))
        b = rng.uniform(-bound, bound, (*lead, 1, filters))
        layers.append({"w": jnp.asarray(w, jnp.float32), "b": jnp.asarray(b, jnp.float32)})
        channels = filters
    return layers


def torso(params: Tree, pixels: Array, image: tuple[int, int, int], xp: Any = jnp) -> Array:
    """Flat images of 0 to 255 (B, channels * height * width) -> (B, size); twins: (2, B, size)."""
    # transposed here and not in every part, where gradients would be too
    layers = [{"w": layer["w"].swapaxes(-1, -2), "b": layer["b"]} for layer in params]
    layers[0]["w"] = layers[0]["w"] * np.float32(1 / 255)
    batch, size = pixels.shape
    few = FEW // math.prod(params[0]["w"].shape[:-2])
    if xp is np or batch <= few or batch % few or jax.default_backend() != "cpu":
        return _torso(layers, pixels, image, xp)

    def part(some: Array) -> Array:
        return _torso(layers, some, image, xp)

    kept = jax.checkpoint_policies.dots_saveable
    parts = lax.map(jax.checkpoint(part, policy=kept), pixels.reshape(-1, few, size))
    parts = jnp.moveaxis(parts, 0, -3)
    return parts.reshape(*parts.shape[:-3], batch, parts.shape[-1])


def _torso(layers: Tree, pixels: Array, image: tuple[int, int, int], xp: Any) -> Array:
    kernel, stride = LAYERS[0][1:]
    x = _blocks(pixels.astype(np.uint8).reshape(-1, *image), kernel, stride, xp)
    sizes = [(kernel // stride, 1), *(size for _, *size in LAYERS[1:])]
    for layer, (kernel, stride) in zip(layers, sizes, strict=True):
        x = _convolve(x, layer, kernel, stride, xp)
    return x.reshape(*x.shape[:-3], -1)


def _blocks(x: Array, kernel: int, stride: int, xp: Any) -> Array:
    """Bytes (B, C, H, W) -> (B, rows, columns, C * stride * stride): a pixel for each block of one
    stride, over which the first convolution has a stride of one.

    Four bytes, a row of a block, are moved as one word: XLA moves elements one by one.
    """
    batch, channels, *size = x.shape
    high, across = ((n - kernel) // stride + kernel // stride for n in size)
    x = x[..., : high * stride, : across * stride]
    x = x.reshape(batch, channels, high, stride, across, stride)
    words: Array
    if xp is np:
        words = np.ascontiguousarray(x).view(np.uint32)[..., 0].transpose(0, 2, 4, 1, 3)
        x = np.ascontiguousarray(words).view(np.uint8)
    else:
        x = lax.bitcast_convert_type(x, jnp.uint32).transpose(0, 2, 4, 1, 3)
        # the barrier keeps XLA from moving bytes after all
        x = lax.bitcast_convert_type(lax.optimization_barrier(x), jnp.uint8)
    return x.reshape(batch, high, across, -1)


def _convolve(x: Array, layer: Tree, kernel: int, stride: int, xp: Any) -> Array:
    """(..., H, W, C) -> (..., H', W', filters), rectified; twins' weights lead with an axis of two.

    A row of a patch is `kernel // stride` neighbouring runs of `stride` pixels.
    """
    *lead, height, width, channels = x.shape
    rows, columns = ((n - kernel) // stride + 1 for n in (height, width))
    wide = kernel // stride
    across = columns + wide - 1
    x = x[..., : across * stride, :].reshape(*lead, height, across, stride * channels)
    end = (rows - 1) * stride + 1
    runs = [x[..., i : i + end : stride, j : j + columns, :]
            for i in range(kernel) for j in range(wide)]  # fmt: skip
    patches = xp.stack(runs, -2).astype(np.float32)
    patches = patches.reshape(*lead[:-1], lead[-1] * rows * columns, -1)
    if xp is np:
        y = np.maximum(patches @ layer["w"].swapaxes(-1, -2) + layer["b"], 0)
    else:
        y = jax.nn.relu(_product(patches, layer["w"]) + layer["b"])
    return y.reshape(*y.shape[:-2], lead[-1], rows, columns, -1)


@jax.custom_vjp
def _product(x: Array, w: Array) -> Array:
    """x @ w.T; twins' `w` leads with an axis of two, which `x` may lack."""
    return _forward(x, w)[0]


def _forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    if w.ndim > x.ndim:  # one product of both would come out with the twins interleaved
        return jnp.stack([x @ twin.mT for twin in w]), (x, w)
    return x @ w.mT, (x, w)


def _backward(saved: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    """The many patches are not transposed but their few gradients."""
    x, w = saved
    dx = dy @ w
    return (dx if dx.ndim == x.ndim else dx.sum(0)), dy.mT @ x


_product.defvjp(_forward, _backward)
