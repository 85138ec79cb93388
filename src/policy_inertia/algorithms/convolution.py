"""The convolutions of the paper's table for Atari, as products of matrices.

A kernel is a whole number of strides wide in every layer of the table. So an image is cut into
blocks of one stride, a patch is a few neighbouring blocks, and all patches are slices joined
together: nothing is gathered, and NumPy runs the same lines as JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import numpy as jnp

from ..types import Array, InputError, Tree

LAYERS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, kernel, stride."""


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

    The rows of `w` run over (block row, block column, row and column in the block, channel).
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
    x = pixels.reshape(-1, *image).transpose(0, 2, 3, 1).astype(np.float32) * np.float32(1 / 255)
    for layer, (_, kernel, stride) in zip(params, LAYERS, strict=True):
        x = xp.maximum(_convolve(x, layer, kernel, stride, xp), 0)
    return x.reshape(*x.shape[:-3], -1)


def _convolve(x: Array, layer: Tree, kernel: int, stride: int, xp: Any) -> Array:
    """(..., H, W, C) -> (..., H', W', filters); twins of weights lead with an axis of two."""
    *lead, height, width, channels = x.shape
    rows, columns = ((n - kernel) // stride + 1 for n in (height, width))
    wide = kernel // stride  # of a patch, in blocks
    high, across = rows + wide - 1, columns + wide - 1  # of the image, in blocks
    x = x[..., : high * stride, : across * stride, :]
    x = x.reshape(*lead, high, stride, across, stride, channels)
    x = xp.moveaxis(x, -4, -3).reshape(*lead, high, across, stride * stride * channels)
    blocks = [x[..., i : i + rows, j : j + columns, :] for i in range(wide) for j in range(wide)]
    patches = xp.concatenate(blocks, -1)
    patches = patches.reshape(*lead[:-1], lead[-1] * rows * columns, -1)
    y = patches @ layer["w"] + layer["b"]
    return y.reshape(*y.shape[:-2], lead[-1], rows, columns, -1)
