import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import prices
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.policies.hysteresis import apply_hysteresis


def test_one_price_in_five_is_zero_and_the_rest_are_even_in_their_logarithm() -> None:
    u = (np.arange(1000) + 0.5) / 1000
    x = prices.draw(u, np)
    assert (x == 0).sum() == 200
    logs = np.log10(x[x > 0])
    assert logs.min() == pytest.approx(-2.5, abs=0.01)
    assert logs.max() == pytest.approx(0, abs=0.01)
    np.testing.assert_allclose(np.diff(logs), 2.5 / 800, rtol=1e-2)


def test_draws_by_hand() -> None:
    # 0.2 is the first positive price, 10^-2.5; 0.6 lies half way up the logarithm, 10^-1.25
    np.testing.assert_allclose(
        prices.draw(np.array([0.0, 0.19, 0.2, 0.6, 1.0]), np),
        [0, 0, 0.0031623, 0.0562341, 1],
        rtol=1e-5,
    )


def test_places_of_a_minibatch_fill_the_range_and_move_on() -> None:
    first, second = (np.float64(prices.spread(jnp.uint32(i), 64)) for i in (0, 1))
    for numbers in (first, second):
        np.testing.assert_allclose(np.diff(np.sort(numbers)), 1 / 64, atol=1e-6)
        assert 0 <= numbers.min() < numbers.max() < 1
    np.testing.assert_allclose((second - first) % 1, (5**0.5 - 1) / 2, atol=1e-6)


def test_places_stay_even_after_millions_of_updates() -> None:
    numbers = np.sort(prices.spread(jnp.uint32(4_000_000_007), 64))
    np.testing.assert_allclose(np.diff(numbers), 1 / 64, atol=1e-6)
    moved = {float(np.sort(prices.spread(jnp.uint32(10**9 + i), 64))[0]) for i in range(20)}
    assert len(moved) == 20


def test_features_by_hand() -> None:
    np.testing.assert_allclose(
        prices.features(np.array([0.0, 0.09, 1.0]), np),
        [[0, 0, 0], [np.log(10) / np.log(101), 0.3, 0.09], [1, 1, 1]],
        rtol=1e-6,
    )


def test_charges_by_hand() -> None:
    previous, action = np.array([0, 0, -1, 2]), np.array([1, 0, 1, 0])
    # a switch at 0.5: 0.5 * (1 - 0.1); a repetition earns 0.05; a start is free; a switch at 2
    np.testing.assert_allclose(
        prices.charge(np.array([0.5, 0.5, 0.5, 2.0]), previous, action, 0.1), [0.45, -0.05, 0, 1.8]
    )


def test_every_action_but_the_last_costs_the_price() -> None:
    u = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], np.float32)
    q = prices.net(u, 0.5, one_hot(np.array([1, -1]), 3, np))
    np.testing.assert_allclose(q - np.array([[0.5], [0.0]]), [[0.5, 2.0, 2.5], [1.0, 2.0, 3.0]])


def test_best_action_after_its_price_is_hysteresis_with_that_threshold() -> None:
    rng = np.random.default_rng(0)
    u, prev = rng.normal(0, 1, (500, 4)).astype(np.float32), rng.integers(-1, 4, 500)
    for tau in (0.0, 0.3, 1.0):
        ours = prices.net(u, tau, one_hot(prev, 4, np)).argmax(1)
        np.testing.assert_array_equal(ours, apply_hysteresis(u, prev, u.argmax(1), tau))


def test_gate_by_hand() -> None:
    q = np.array([[1.0, 2, 3], [1, 2, 3], [2, 2, 1], [1, 2, 3], [4, 2, 3]], np.float32)
    pi = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    core = np.log(pi)
    previous = np.array([1, 1, 1, -1, 1])
    mu, action = losses.gate(q, core, previous, np)
    # worse than repeating; better; as good, so repeated; no previous; the core's, not the best
    np.testing.assert_array_equal(mu, [1, 0, 1, 0, 0])
    np.testing.assert_array_equal(action, [1, 2, 1, 1, 2])


def test_price_below_zero_is_a_margin_and_the_lowest_is_the_core_itself() -> None:
    price = np.array([-2.0, -1.5, -0.0, 0.0, 3.0], np.float32)
    cost, margin = prices.cost_and_margin(price, np.array(2.0, np.float32))
    np.testing.assert_array_equal(cost, [0, 0, 0, 0, 3])
    np.testing.assert_array_equal(margin[1:], [1.5, 0, 0, 0])
    assert margin[0] == -losses.IMPOSSIBLE
    assert cost.dtype == margin.dtype == np.dtype(np.float32)


def test_margin_is_what_another_action_must_be_better_by_than_the_core() -> None:
    q = np.array([[1.0, 2.0, 0.0]] * 3, np.float32)
    core = np.array([[1.0, 0.0, 0.0]] * 3, np.float32)
    margin = np.array([0.9, 1.1, 1e30], np.float32)
    for xp in (np, jnp):
        favoured = prices.favour(q, margin, core, xp)
        np.testing.assert_array_equal(np.argmax(favoured, 1), [1, 0, 0])
        np.testing.assert_array_equal(favoured[:, 1:], q[:, 1:])


@pytest.mark.parametrize("n", [1, 5, 16, 256])
def test_all_free_places_of_a_minibatch_are_in_a_fifth_of_its_rows(n: int) -> None:
    size = min(n, n // 5 + 2)
    for count in np.random.default_rng(0).integers(0, 2**32, 200):
        u = prices.spread(jnp.uint32(count), n)
        rows = np.asarray(prices.free_rows(u))
        assert len(rows) == len(set(rows.tolist())) == size
        assert set(np.flatnonzero(np.asarray(prices.draw(u)) == 0)) <= set(rows.tolist())
