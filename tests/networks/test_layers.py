import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    ChannelsFirst,
    ChannelsLast,
    Conv,
    Flatten,
    Layers,
    Linear,
    OneHot,
    Rescale,
    perceptron,
    run,
)
from policy_inertia.networks.perceptron import init_mlp, mlp
from policy_inertia.networks.stored_layers import restore, store

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_a_perceptron_as_layers_computes_the_same() -> None:
    params = init_mlp(np.random.default_rng(0), (5, 8, 8, 2))
    x = normal(10, 5)
    np.testing.assert_allclose(run(perceptron(params), x), mlp(params, x, np), atol=1e-6)


def test_a_convolution_agrees_with_plain_loops() -> None:
    layer, x = Conv(normal(4, 2, 3, 2), normal(4), stride=2), normal(3, 2, 7, 9)
    y = run((layer,), x)
    assert y.shape == (3, 4, 3, 4)
    for n, f, i, j in np.ndindex(y.shape):
        window = x[n, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        assert y[n, f, i, j] == pytest.approx((window * layer.w[f]).sum() + layer.b[f], abs=1e-5)


def test_a_network_does_not_change_its_input() -> None:
    x = normal(4, 3)
    before = x.copy()
    for name in ACTIVATIONS:
        run((Linear(normal(3, 3), normal(3)), Activation(name)), x)
    np.testing.assert_array_equal(x, before)


def test_simple_layers_by_hand() -> None:
    rescale = Rescale(np.array([1, 2]), np.array([2, 4]), clip=1.0)
    assert run((rescale,), np.array([[2, 100], [-9, 4]])).tolist() == [[0.5, 1], [-1, 0.5]]
    assert run((OneHot(3, first=1),), [1, 3]).tolist() == [[1, 0, 0], [0, 0, 1]]
    image = np.arange(6).reshape(1, 1, 2, 3)  # (B, H, W, C)
    first = run((ChannelsFirst(),), image)
    assert first.shape == (1, 3, 1, 2)
    assert np.array_equal(run((ChannelsLast(),), first), image)
    assert run((Flatten(),), first).tolist() == [[0, 3, 1, 4, 2, 5]]


def test_restore_inverts_store() -> None:
    layers: Layers = (
        OneHot(3, first=1),
        Rescale(np.arange(3.0), np.arange(1.0, 4.0), clip=5.0),
        Linear(normal(3, 4), normal(4)),
        Activation("SiLU"),
        Flatten(),
    )
    arrays, kinds = store(layers)
    assert sorted(arrays) == ["core.1.mean", "core.1.std", "core.2.b", "core.2.w"]
    assert kinds[0] == {"kind": "OneHot", "n": 3, "first": 1}
    x = np.array([1, 2, 3])
    np.testing.assert_array_equal(run(restore(arrays, kinds), x), run(layers, x))


def test_an_incomplete_description_is_refused() -> None:
    with pytest.raises(InputError, match="layer 0 is of kind 'Attention': did you mean"):
        restore({}, [{"kind": "Attention"}])
    with pytest.raises(InputError, match="layer 0 cannot be used: b is missing"):
        restore({"core.0.w": normal(3, 3)}, [{"kind": "Linear"}])
