import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from policy_inertia import InputError
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.convolution import init_torso, torso, torso_size
from policy_inertia.networks.layers import convolutions, run
from policy_inertia.networks.perceptron import Network

ATARI = (4, 84, 84)


def pixels(image, n=3):
    return np.random.default_rng(1).integers(0, 256, (n, int(np.prod(image))), dtype=np.uint8)


def by_xla(layers, x, image):
    """XLA's own convolutions, of kernels (filters, C, height, width), for comparison."""
    x = jnp.asarray(x.reshape(-1, *image), jnp.float32) / 255
    for w, b, stride in layers:
        y = lax.conv(x, w, (stride, stride), "VALID", precision="highest")
        x = jnp.maximum(y + b[:, None, None], 0)
    return x.transpose(0, 2, 3, 1).reshape(len(x), -1)


def kernels(params):
    """Our layers as XLA wants them."""
    return [
        (jnp.asarray(layer.w), jnp.asarray(layer.b), layer.stride)
        for layer in convolutions(params)[1:-2:2]
    ]


@pytest.mark.parametrize("image", [ATARI, (1, 36, 40), (3, 51, 37)])
@pytest.mark.parametrize("xp", [np, jnp])
def test_torso_is_three_convolutions(image, xp):
    params = init_torso(np.random.default_rng(0), image)
    x = pixels(image)
    found = torso(params, xp.asarray(x), image, xp)
    assert found.shape == (3, torso_size(image))
    np.testing.assert_allclose(found, by_xla(kernels(params), x, image), atol=1e-5)
    np.testing.assert_allclose(run(convolutions(params), x.reshape(-1, *image)), found, atol=1e-5)


@pytest.mark.parametrize("twins", [None, 2])
@pytest.mark.parametrize("n", [8, 16, 20])
def test_few_images_at_a_time_come_out_as_each_by_itself(twins, n):
    image = (1, 36, 40)
    params, x = init_torso(np.random.default_rng(0), image, twins), jnp.asarray(pixels(image, n))
    alone = [torso(params, x[i : i + 1], image) for i in range(n)]
    np.testing.assert_allclose(torso(params, x, image), jnp.concatenate(alone, -2), atol=1e-6)


@pytest.mark.parametrize("image", [ATARI, (3, 51, 37)])
@pytest.mark.parametrize("n", [3, 16])
def test_gradients_are_those_of_the_convolutions(image, n):
    params = init_torso(np.random.default_rng(0), image)
    x = pixels(image, n)
    pull = np.random.default_rng(2).normal(size=(n, torso_size(image))).astype(np.float32)
    found = jax.grad(lambda p: (torso(p, x, image) * pull).sum())(params)
    strides = [stride for *_, stride in kernels(params)]

    def reference(weights):
        layers = [(w, b, s) for (w, b), s in zip(weights, strides, strict=True)]
        return (by_xla(layers, x, image) * pull).sum()

    expected = jax.grad(reference)([(w, b) for w, b, _ in kernels(params)])
    for (w, b, _), (dw, db) in zip(kernels(found), expected, strict=True):
        np.testing.assert_allclose(w, dw, atol=1e-5 * abs(dw).max() + 1e-7)
        np.testing.assert_allclose(b, db, atol=1e-5 * abs(db).max() + 1e-7)


@pytest.mark.parametrize("n", [3, 16])
def test_twins_gradients_are_those_of_two_networks(n):
    params = init_torso(np.random.default_rng(0), ATARI, twins=2)
    x = pixels(ATARI, n)
    pull = np.random.default_rng(2).normal(size=(2, n, torso_size(ATARI))).astype(np.float32)
    both = jax.grad(lambda p: (torso(p, x, ATARI) * pull).sum())(params)
    for i in range(2):
        one = [{k: v[i] for k, v in layer.items()} for layer in params]
        alone = jax.grad(lambda p, i=i: (torso(p, x, ATARI) * pull[i]).sum())(one)
        for mine, theirs in zip(both, alone, strict=True):
            for k in ("w", "b"):
                np.testing.assert_allclose(
                    mine[k][i], theirs[k], atol=1e-5 * abs(theirs[k]).max() + 1e-7
                )


def test_pixels_may_come_as_floats():
    """As they do where a frozen core's answers are stored with them."""
    params = init_torso(np.random.default_rng(0), ATARI)
    x = pixels(ATARI)
    same = torso(params, x.astype(np.float32), ATARI, np)
    np.testing.assert_array_equal(torso(params, x, ATARI, np), same)


def test_sizes_of_the_papers_table():
    assert torso_size(ATARI) == 7 * 7 * 64
    network = Network(Spec(4 * 84 * 84, 6, image=ATARI), (512,), 1, extra=6)
    params = network.init(np.random.default_rng(0))
    shapes = [layer["w"].shape for layer in (*params["torso"], *params["head"])]
    assert shapes == [
        (8 * 8 * 4, 32),
        (4 * 4 * 32, 64),
        (3 * 3 * 64, 64),
        (7 * 7 * 64 + 6, 512),  # the one-hot of a_prev is joined after the convolutions
        (512, 1),
    ]


def test_twins_are_two_networks():
    network = Network(Spec(4 * 84 * 84, 2, image=ATARI), (16,), 2, extra=3)
    params = network.init(np.random.default_rng(0), twins=2)
    x, extra = pixels(ATARI), np.random.default_rng(2).normal(size=(3, 3)).astype(np.float32)
    both = network(params, x, extra)
    for i in range(2):
        one = {
            part: [{k: v[i] for k, v in layer.items()} for layer in layers]
            for part, layers in params.items()
        }
        np.testing.assert_allclose(both[i], network(one, x, extra, np), atol=1e-5)
    assert abs(both[0] - both[1]).max() > 1e-3


def test_weights_are_as_wide_as_pytorchs():
    first = init_torso(np.random.default_rng(0), ATARI)[0]
    assert 0.9 / 16 < abs(first["w"]).max() <= 1 / 16


def test_too_small_an_image_is_refused():
    with pytest.raises(InputError, match="too small for the convolutions"):
        torso_size((4, 35, 84))
