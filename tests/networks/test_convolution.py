from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from policy_inertia import InputError
from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.convolution import init_torso, torso, torso_size
from policy_inertia.networks.layers import BYTES, Conv, convolutions, run
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Tree

Image = tuple[int, int, int]
ATARI: Image = (4, 84, 84)
MINATAR: Image = (6, 10, 10)


def pixels(image: Image, n: int = 3) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (n, int(np.prod(image))), dtype=np.uint8)


def by_xla(layers: list[tuple[Any, Any, int]], x: np.ndarray, image: Image) -> jax.Array:
    """XLA's own convolutions, with kernels (filters, C, height, width), for comparison."""
    y = jnp.asarray(x.reshape(-1, *image), jnp.float32) / 255
    for w, b, stride in layers:
        y = lax.conv(y, w, (stride, stride), "VALID", precision="highest")
        y = jnp.maximum(y + b[:, None, None], 0)
    return y.transpose(0, 2, 3, 1).reshape(len(y), -1)


def kernels(params: Tree, image: Image) -> list[tuple[Any, Any, int]]:
    """Our layers in the form that XLA takes."""
    return [
        (jnp.asarray(layer.w), jnp.asarray(layer.b), layer.stride)
        for layer in convolutions(params, image)
        if isinstance(layer, Conv)
    ]


@pytest.mark.parametrize("image", [ATARI, (1, 36, 40), (3, 51, 37), MINATAR, (2, 35, 12)])
@pytest.mark.parametrize("xp", [np, jnp])
def test_the_torso_is_the_convolutions_of_its_row(image: Image, xp: Any) -> None:
    params = init_torso(np.random.default_rng(0), image)
    x = pixels(image)
    outputs = partial(torso, image=image, xp=xp)
    y = (outputs if xp is np else jax.jit(outputs))(params, xp.asarray(x))
    assert y.shape == (3, torso_size(image))
    np.testing.assert_allclose(y, by_xla(kernels(params, image), x, image), atol=1e-5)
    layers = (BYTES, *convolutions(params, image))
    np.testing.assert_allclose(run(layers, x.reshape(-1, *image)), y, atol=1e-5)


@pytest.mark.parametrize("twins", [None, 2])
@pytest.mark.parametrize("n", [8, 16, 20])
def test_a_batch_gives_the_same_as_single_images(twins: int | None, n: int) -> None:
    image = (1, 36, 40)
    params, x = init_torso(np.random.default_rng(0), image, twins), jnp.asarray(pixels(image, n))
    outputs = jax.jit(partial(torso, image=image))
    single = [outputs(params, x[i : i + 1]) for i in range(n)]
    np.testing.assert_allclose(outputs(params, x), jnp.concatenate(single, -2), atol=1e-6)


@pytest.mark.parametrize("image", [ATARI, (3, 51, 37), MINATAR])
@pytest.mark.parametrize("n", [3, 16])
@pytest.mark.usefixtures("quick_compiler")
def test_gradients_agree_with_those_of_xlas_convolutions(image: Image, n: int) -> None:
    params = init_torso(np.random.default_rng(0), image)
    x = pixels(image, n)
    weight = np.random.default_rng(2).normal(size=(n, torso_size(image))).astype(np.float32)
    gradients = jax.jit(jax.grad(lambda p: (torso(p, x, image) * weight).sum()))(params)
    strides = [stride for *_, stride in kernels(params, image)]

    def loss(weights: list[tuple[Any, Any]]) -> jax.Array:
        layers = [(w, b, s) for (w, b), s in zip(weights, strides, strict=True)]
        return (by_xla(layers, x, image) * weight).sum()

    expected = jax.jit(jax.grad(loss))([(w, b) for w, b, _ in kernels(params, image)])
    for (w, b, _), (dw, db) in zip(kernels(gradients, image), expected, strict=True):
        np.testing.assert_allclose(w, dw, atol=1e-5 * abs(dw).max() + 1e-7)
        np.testing.assert_allclose(b, db, atol=1e-5 * abs(db).max() + 1e-7)


def weighted_sum(params: Tree, x: np.ndarray, weight: np.ndarray) -> Array:
    return (torso(params, x, ATARI) * weight).sum()


@pytest.mark.parametrize("n", [3, 16])
@pytest.mark.usefixtures("quick_compiler")
def test_gradients_of_twins_agree_with_those_of_two_networks(n: int) -> None:
    params = init_torso(np.random.default_rng(0), ATARI, twins=2)
    x = pixels(ATARI, n)
    weight = np.random.default_rng(2).normal(size=(2, n, torso_size(ATARI))).astype(np.float32)
    gradients = jax.jit(jax.grad(partial(weighted_sum, x=x, weight=weight)))(params)
    for i in range(2):
        one = [{k: v[i] for k, v in layer.items()} for layer in params]
        expected = jax.jit(jax.grad(partial(weighted_sum, x=x, weight=weight[i])))(one)
        for layer, single in zip(gradients, expected, strict=True):
            for k in ("w", "b"):
                tolerance = 1e-5 * abs(single[k]).max() + 1e-7
                np.testing.assert_allclose(layer[k][i], single[k], atol=tolerance)


def test_pixels_may_be_floats() -> None:
    """They are floats if a frozen core's outputs are stored with them."""
    params = init_torso(np.random.default_rng(0), ATARI)
    x = pixels(ATARI)
    from_floats = torso(params, x.astype(np.float32), ATARI, np)
    np.testing.assert_array_equal(torso(params, x, ATARI, np), from_floats)


def test_the_sizes_are_those_of_the_papers_table() -> None:
    assert torso_size(ATARI) == 7 * 7 * 64
    network = Network(Spec(4 * 84 * 84, Discrete(6), image=ATARI), (512,), 1, extra=6)
    params = network.init(np.random.default_rng(0))
    shapes = [layer["w"].shape for layer in (*params["torso"], *params["head"])]
    assert shapes == [
        (8 * 8 * 4, 32),
        (4 * 4 * 32, 64),
        (3 * 3 * 64, 64),
        (7 * 7 * 64 + 6, 512),  # the one-hot of a_prev joins after the convolutions
        (512, 1),
    ]


def test_minatars_planes_have_the_network_of_its_paper() -> None:
    network = Network(Spec(600, Discrete(4), image=MINATAR, planes=True), (128,), 4)
    params = network.init(np.random.default_rng(0))
    shapes = [layer["w"].shape for layer in (*params["torso"], *params["head"])]
    assert shapes == [(3 * 3 * 6, 16), (8 * 8 * 16, 128), (128, 4)]


def test_twins_are_two_networks() -> None:
    network = Network(Spec(4 * 84 * 84, Discrete(2), image=ATARI), (16,), 2, extra=3)
    params = network.init(np.random.default_rng(0), twins=2)
    x, extra = pixels(ATARI), np.random.default_rng(2).normal(size=(3, 3)).astype(np.float32)
    outputs = jax.jit(network)(params, x, extra)
    for i in range(2):
        one = {
            part: [{k: v[i] for k, v in layer.items()} for layer in layers]
            for part, layers in params.items()
        }
        np.testing.assert_allclose(outputs[i], network(one, x, extra, np), atol=1e-5)
    assert abs(outputs[0] - outputs[1]).max() > 1e-3


def test_weights_have_the_range_of_pytorch() -> None:
    first = init_torso(np.random.default_rng(0), ATARI)[0]
    assert 0.9 / 16 < np.abs(first["w"]).max() <= 1 / 16


def test_an_image_that_is_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="too small for the convolutions"):
        torso_size((4, 9, 84))
