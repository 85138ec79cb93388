import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.spec import Spec
from policy_inertia.networks.perceptron import Network, init_mlp, log_softmax, mlp, one_hot
from policy_inertia.types import Tree


def one_of(params: Tree, i: int) -> Tree:
    """The parameters of one of the twins."""
    return jax.tree.map(lambda a: np.asarray(a[i]), params)


def by_hand(params: Tree, x: np.ndarray) -> np.ndarray:
    """A perceptron in float64, one input and one unit at a time."""
    outputs = []
    for row in x.astype(np.float64).tolist():
        for i, layer in enumerate(params):
            w, b = np.asarray(layer["w"], float), np.asarray(layer["b"], float).reshape(-1)
            row = [sum(row[k] * w[k, j] for k in range(len(row))) + b[j] for j in range(len(b))]
            if i + 1 < len(params):
                row = [max(0.0, unit) for unit in row]
        outputs.append(row)
    return np.array(outputs)


def test_a_perceptron_agrees_with_plain_loops() -> None:
    params = init_mlp(np.random.default_rng(0), (3, 8, 8, 2), twins=2)
    x = np.random.default_rng(0).normal(0, 1, (5, 3)).astype(np.float32)
    assert mlp(params, x).shape == (2, 5, 2)
    for i in range(2):
        one = one_of(params, i)
        np.testing.assert_allclose(mlp(params, x)[i], by_hand(one, x), atol=1e-6)
        np.testing.assert_allclose(mlp(one, x, np), by_hand(one, x), atol=1e-6)


def test_weights_are_uniform_in_the_range_of_pytorch() -> None:
    first, last = init_mlp(np.random.default_rng(0), (16, 400, 2))
    assert 0.99 / 4 < np.abs(first["w"]).max() <= 1 / 4
    assert 0.9 / 4 < np.abs(first["b"]).max() <= 1 / 4
    assert np.abs(last["w"]).max() <= 1 / 20
    assert np.abs(last["b"]).max() > 0


def test_zero_bias_changes_the_last_bias_only() -> None:
    usual, zero = (
        init_mlp(np.random.default_rng(0), (3, 4, 2), zero_bias=zero) for zero in (False, True)
    )
    assert not zero[-1]["b"].any()
    np.testing.assert_array_equal(zero[-1]["w"], usual[-1]["w"])
    np.testing.assert_array_equal(zero[0]["b"], usual[0]["b"])


@pytest.mark.parametrize("xp", [np, jnp])
def test_extra_inputs_join_the_observation_and_core_outputs_are_left_out(xp: object) -> None:
    rng = np.random.default_rng(0)
    network = Network(Spec(6, Discrete(3), core_outputs=2), (5,), 3, extra=4)
    params = network.init(rng)
    obs, a, b = (rng.normal(size=(7, n)).astype(np.float32) for n in (6, 3, 1))
    expected = mlp(params, np.concatenate([obs[:, :4], a, b], -1), np)
    outputs = network(params, obs, (a, b), xp)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    obs[:, 4:] = 9
    np.testing.assert_array_equal(network(params, obs, (a, b), xp), outputs)


def test_the_null_action_is_a_row_of_zeros() -> None:
    assert one_hot(np.array([-1, 0, 2]), 3, np).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_log_softmax_of_large_logits_is_finite() -> None:
    assert log_softmax(np.array([[1e4, -1e4]]), np).tolist() == [[0, -2e4]]


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
@pytest.mark.parametrize("seconds", [0, 2, 6])
def test_second_inputs_give_what_a_second_pass_gives(
    xp: object, hidden: tuple[int, ...], seconds: int
) -> None:
    rng = np.random.default_rng(0)
    network = Network(Spec(3, Discrete(2)), hidden, 2, extra=7)
    params = jax.tree.map(np.asarray, network.init(rng, twins=2))
    obs, extra, inputs = (
        rng.normal(0, 1, shape).astype(np.float32) for shape in ((6, 3), (6, 4), (6 + seconds, 3))
    )
    outputs = network.once_or_twice(params, obs, extra, inputs, xp)
    first = network(params, obs, (extra, inputs[:6]), xp)
    np.testing.assert_allclose(outputs[:, :6], first, atol=1e-6)
    last = slice(6 - seconds, 6)
    second = network(params, obs[last], (extra[last], inputs[6:]), xp)
    np.testing.assert_allclose(outputs[:, 6:], second, atol=1e-6)


@pytest.mark.parametrize("xp", [np, jnp])
def test_second_inputs_join_behind_the_convolutions(xp: object) -> None:
    rng = np.random.default_rng(0)
    network = Network(Spec(4 * 84 * 84, Discrete(2), image=(4, 84, 84)), (8,), 2, extra=5)
    params = jax.tree.map(np.asarray, network.init(rng, twins=2))
    obs = rng.integers(0, 256, (3, 4 * 84 * 84)).astype(np.uint8)
    extra, inputs = (rng.normal(0, 1, shape).astype(np.float32) for shape in ((3, 2), (3 + 2, 3)))
    outputs = network.once_or_twice(params, obs, extra, inputs, xp)
    first = network(params, obs, (extra, inputs[:3]), xp)
    second = network(params, obs[1:], (extra[1:], inputs[3:]), xp)
    np.testing.assert_allclose(outputs, np.concatenate([first, second], 1), atol=1e-4)
