"""Convolutions as matrix products: those of the paper's Atari networks, and MinAtar's.

In every layer, the kernel is a whole number of strides wide. So all patches are slices that are
joined, without a gather, and NumPy runs the same lines as JAX. XLA's own convolutions are slower,
above all inside a loop, where the learner runs its updates. `benchmarks/atari.py` measures the
speed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.envs.spaces import SMALLEST_IMAGE, SMALLEST_PLANES
from policy_inertia.errors import InputError
from policy_inertia.types import Array, LayerParams


class Convolutions(NamedTuple):
    """The convolutions for images from a size on."""

    smallest: int
    """Pixels of the shorter side."""
    layers: tuple[tuple[int, int, int], ...]
    """Filters, kernel size and stride of each layer; the first stride is 1 or 4."""
    chunk: int
    """Images processed at a time on a CPU, so that their patches fit into the cache. Twins process
    half as many. Gradients compute the patches again instead of storing them."""


CONVOLUTIONS = (
    Convolutions(SMALLEST_IMAGE, ((32, 8, 4), (64, 4, 2), (64, 3, 1)), chunk=8),  # paper's table
    Convolutions(SMALLEST_PLANES, ((16, 3, 1),), chunk=256),  # Young and Tian's, for MinAtar
)
"""The first row that is not too large for an image counts."""


def convolutions_for(image: tuple[int, int, int]) -> Convolutions:
    """Return the convolutions for images of this shape.

    Args:
        image: Channels, height and width.

    Raises:
        InputError: The image is too small.
    """
    for row in CONVOLUTIONS:
        if min(image[1:]) >= row.smallest:
            return row
    raise InputError(
        f"images of {image[1]} x {image[2]} are too small for the convolutions: give at least "
        f"{SMALLEST_PLANES} x {SMALLEST_PLANES}, or wrap the env to offer a vector"
    )


def torso_size(image: tuple[int, int, int]) -> int:
    """Number of outputs of the last convolution.

    Args:
        image: Channels, height and width.

    Returns:
        The number of outputs.

    Raises:
        InputError: The image is too small for the kernels.
    """
    height, width = image[1:]
    layers = convolutions_for(image).layers
    for _, kernel, stride in layers:
        height, width = ((n - kernel) // stride + 1 for n in (height, width))
    return layers[-1][0] * height * width


def init_torso(
    rng: np.random.Generator, image: tuple[int, int, int], twins: int | None = None
) -> list[LayerParams]:
    """Draw weights and biases, uniform in +-1/sqrt(fan_in) as in PyTorch.

    Args:
        rng: Generator.
        image: Channels, height and width.
        twins: Size of a leading axis, for several networks at once.

    Returns:
        The layers. The rows of `w` run over (row, column, channel) of a patch; in the first layer
        over (block row, block column, channel, row in the block, column in the block).
    """
    layers: list[LayerParams] = []
    channels = image[0]
    lead = () if twins is None else (twins,)
    for filters, kernel, _ in convolutions_for(image).layers:
        fan_in = kernel * kernel * channels
        bound = fan_in**-0.5
        w = rng.uniform(-bound, bound, (*lead, fan_in, filters))
        b = rng.uniform(-bound, bound, (*lead, 1, filters))
        layers.append({"w": jnp.asarray(w, jnp.float32), "b": jnp.asarray(b, jnp.float32)})
        channels = filters
    return layers


def torso(
    params: list[LayerParams], pixels: Array, image: tuple[int, int, int], xp: Any = jnp
) -> Array:
    """Apply the convolutions.

    Args:
        params: Layers from `init_torso`.
        pixels: Flat images with values 0 to 255, (B, channels * height * width).
        image: Channels, height and width.
        xp: The array module.

    Returns:
        The outputs, (B, size), or (twins, B, size).
    """
    # transposed once, not in every chunk, where the gradients would be transposed as well
    layers = [{"w": layer["w"].swapaxes(-1, -2), "b": layer["b"]} for layer in params]
    layers[0]["w"] = layers[0]["w"] * np.float32(1 / 255)
    batch, size = pixels.shape
    few = convolutions_for(image).chunk // math.prod(params[0]["w"].shape[:-2])
    if xp is np or batch <= few or batch % few or jax.default_backend() != "cpu":
        return _torso(layers, pixels, image, xp)

    def outputs_of(chunk: Array) -> Array:
        return _torso(layers, chunk, image, xp)

    stored = jax.checkpoint_policies.dots_saveable
    outputs = lax.map(jax.checkpoint(outputs_of, policy=stored), pixels.reshape(-1, few, size))
    outputs = jnp.moveaxis(outputs, 0, -3)
    return outputs.reshape(*outputs.shape[:-3], batch, outputs.shape[-1])


def _torso(layers: list[LayerParams], pixels: Array, image: tuple[int, int, int], xp: Any) -> Array:
    """Apply the convolutions to all images at once; the weights are transposed and scaled."""
    rows = convolutions_for(image).layers
    kernel, stride = rows[0][1:]
    x = _blocks(pixels.astype(np.uint8).reshape(-1, *image), kernel, stride, xp)
    sizes = [(kernel // stride, 1), *(size for _, *size in rows[1:])]
    for layer, (kernel, stride) in zip(layers, sizes, strict=True):
        x = _convolve(x, layer, kernel, stride, xp)
    return x.reshape(*x.shape[:-3], -1)


def _blocks(x: Array, kernel: int, stride: int, xp: Any) -> Array:
    """Join each block of stride x stride pixels into one pixel with more channels.

    Over these blocks, the first convolution has a stride of one. The four bytes of a row of a block
    are moved as one word, because XLA moves elements one by one.

    Args:
        x: Bytes, (B, C, H, W).
        kernel: Kernel size of the first convolution.
        stride: Its stride.
        xp: The array module.

    Returns:
        Bytes, (B, rows, columns, C * stride * stride).
    """
    if stride == 1:
        x = xp.moveaxis(x, 1, -1)
        return x if xp is np else lax.optimization_barrier(x)  # else moved again for each patch
    batch, channels, *size = x.shape
    high, across = ((n - kernel) // stride + kernel // stride for n in size)
    x = x[..., : high * stride, : across * stride]
    x = x.reshape(batch, channels, high, stride, across, stride)
    packed: Array
    if xp is np:
        packed = np.ascontiguousarray(x).view(np.uint32)[..., 0].transpose(0, 2, 4, 1, 3)
        x = np.ascontiguousarray(packed).view(np.uint8)
    else:
        x = lax.bitcast_convert_type(x, jnp.uint32).transpose(0, 2, 4, 1, 3)
        # without the barrier, XLA would move single bytes
        x = lax.bitcast_convert_type(lax.optimization_barrier(x), jnp.uint8)
    return x.reshape(batch, high, across, -1)


def _convolve(x: Array, layer: LayerParams, kernel: int, stride: int, xp: Any) -> Array:
    """Apply one convolution and ReLU: (..., H, W, C) -> (..., H', W', filters).

    The weights of twins have a leading axis. A row of a patch is `kernel // stride` neighbouring
    runs of `stride` pixels.
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
    """x @ w.T, where the `w` of twins has a leading axis that `x` may lack."""
    return _forward(x, w)[0]


def _forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    if w.ndim > x.ndim:  # a single product would interleave the outputs of the twins
        return jnp.stack([x @ twin.mT for twin in w]), (x, w)
    return x @ w.mT, (x, w)


def _backward(saved: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    """The gradients; they transpose the small output gradients instead of the large patches."""
    x, w = saved
    dx = dy @ w
    return (dx if dx.ndim == x.ndim else dx.sum(0)), dy.mT @ x


_product.defvjp(_forward, _backward)
