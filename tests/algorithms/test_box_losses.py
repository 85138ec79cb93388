"""The equations for Box actions against numbers by hand, NumPy and finite differences."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from scipy import integrate, stats

from policy_inertia.algorithms import box_losses
from tests.algorithms.differences import finite_difference

RNG = np.random.default_rng(3)


def density(a: float, mean: float, std: float) -> float:
    """The density of tanh(N(mean, std)) at a, by SciPy and the rule for a change of variables."""
    return float(stats.norm.pdf(np.arctanh(a), mean, std) / (1 - a**2))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.5), (1.2, 0.3), (-0.4, 1.5)])
def test_density_of_a_squashed_sample_is_that_of_scipy(mean: float, std: float) -> None:
    noise = np.array([[-1.3], [0.0], [0.7]], np.float32)
    with jax.enable_x64(True):
        action, log_pi = box_losses.squashed_sample(
            jnp.full((3, 1), mean), jnp.full((3, 1), np.log(std)), jnp.asarray(noise)
        )
    for a, log in zip(np.ravel(action), np.ravel(log_pi), strict=True):
        assert log == pytest.approx(np.log(density(a, mean, std)), rel=1e-6)


def test_density_of_a_squashed_gaussian_integrates_to_one() -> None:
    def pi(a: float) -> float:
        u = np.arctanh(a)
        noise = (u - 0.3) / 0.6
        log = box_losses.log_gaussian(noise, np.log(0.6)) - box_losses.log_slope(u, np)
        return float(np.exp(log))

    total, _ = integrate.quad(pi, -1, 1)
    assert total == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("u", [-30.0, -2.0, 0.0, 5.0, 40.0])
def test_slope_of_tanh_has_an_exact_logarithm_where_it_vanishes(u: float) -> None:
    expected = np.log(4.0) - 2 * abs(u) - 2 * np.log1p(np.exp(-2 * abs(u)))
    assert box_losses.log_slope(np.asarray(u), np) == pytest.approx(expected, abs=1e-9)


def test_gradient_of_a_sample_and_its_density_is_that_of_finite_differences() -> None:
    noise = RNG.normal(size=(4, 2))

    def loss(x: Any) -> Any:
        mean, log_std = x[:8].reshape(4, 2), x[8:].reshape(4, 2)
        action, log_pi = box_losses.squashed_sample(mean, log_std, noise)
        q = (action * jnp.array([1.0, -2.0])).sum(-1)
        return box_losses.soft_actor_loss(q, log_pi.sum(-1), 0.3)

    finite_difference(loss, RNG.normal(0, 0.5, 16))


def test_soft_value_and_actor_loss_by_hand() -> None:
    q, log_pi = np.array([1.0, 3.0]), np.array([-0.5, 0.5])
    assert box_losses.soft_value(q, log_pi, 0.2).tolist() == pytest.approx([1.1, 2.9])
    assert box_losses.soft_actor_loss(q, log_pi, 0.2) == pytest.approx(-2.0)


def test_residuals_of_twins_are_summed() -> None:
    q = np.array([[1.0, 5.0], [2.0, 7.0]])  # targets 3 and 3: (4 + 4) / 4 and (1 + 16) / 4
    assert box_losses.residual(q, np.array([3.0, 3.0])) == pytest.approx(6.25)


def test_temperature_rises_where_the_entropy_is_below_its_target() -> None:
    gradient = jax.grad(box_losses.temperature_loss)
    # the entropy is -E[log pi]: -1 and 3, with a target of 1
    assert gradient(0.0, np.array([1.0]), 1.0) < 0  # descent raises alpha
    assert gradient(0.0, np.array([-3.0]), 1.0) > 0


def test_smoothed_action_keeps_to_its_noise_and_to_the_bounds() -> None:
    action, noise = np.array([0.95, -0.2, 0.0]), np.array([1.0, -10.0, 0.5])
    smoothed = box_losses.smoothed_action(action, noise, 0.2, 0.5)
    assert smoothed.tolist() == pytest.approx([1.0, -0.7, 0.1])


def test_deterministic_actor_ascends_the_first_critic_alone() -> None:
    q = np.array([[1.0, 2.0], [50.0, 60.0]])
    assert box_losses.deterministic_actor_loss(q) == pytest.approx(-1.5)


def core_density(a: float) -> float:
    return density(a, 0.4, 0.6)


def test_entropy_of_the_mixture_is_that_of_a_numerical_integral() -> None:
    """Over the atom at a_prev, which counts, and the density, which is integrated."""
    mu = 0.3

    def term(a: float) -> float:
        p = (1 - mu) * core_density(a)
        return -p * np.log(p) if p > 0 else 0.0

    integral, _ = integrate.quad(term, -1, 1, limit=200)
    expected = -mu * np.log(mu) + integral
    core_entropy, _ = integrate.quad(
        lambda a: -core_density(a) * np.log(max(core_density(a), 1e-300)), -1, 1, limit=200
    )
    ours = box_losses.mixed_entropy(np.array([mu]), np.array([core_entropy]))
    assert float(ours[0]) == pytest.approx(expected, rel=1e-5)


def test_value_of_the_mixture_is_that_of_a_numerical_integral() -> None:
    mu, prev, alpha, gate_alpha = 0.7, 0.25, 0.2, 0.5

    def q(a: float) -> float:
        return float(np.sin(3 * a) - a**2)

    def followed(a: float) -> float:
        return core_density(a) * (q(a) - alpha * np.log(max(core_density(a), 1e-300)))

    follow, _ = integrate.quad(followed, -1, 1, limit=200)
    gate = -mu * np.log(mu) - (1 - mu) * np.log(1 - mu)
    expected = mu * q(prev) + (1 - mu) * follow + gate_alpha * gate
    ours = box_losses.mixed_value(
        np.array([mu]), np.array([q(prev)]), np.array([follow]), gate_alpha
    )
    assert float(ours[0]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("gain", [-2.0, 0.0, 0.3, 5.0])
def test_best_gate_is_where_the_value_is_largest(gain: float) -> None:
    grid = np.linspace(0, 1, 100_001)
    values = box_losses.mixed_value(grid, np.full_like(grid, gain), np.zeros_like(grid), 0.4)
    best = box_losses.best_gate(np.array(gain), 0.4)
    assert float(best) == pytest.approx(grid[np.argmax(values)], abs=2e-3)


def test_entropy_of_a_certain_gate_is_zero_and_has_no_nan() -> None:
    assert box_losses.gate_entropy(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_weight_of_the_gates_entropy_falls_where_the_gate_is_too_random() -> None:
    gradient = jax.grad(box_losses.gate_temperature_loss)
    assert gradient(0.0, 0.6, 0.2) > 0  # descent lowers it
    assert gradient(0.0, 0.1, 0.2) < 0


def test_costs_are_shares_of_the_range_by_hand() -> None:
    action, prev = np.array([[1.0, 0.0]]), np.array([[-1.0, 0.5]])
    assert float(box_losses.l1_cost(action, prev)[0]) == pytest.approx((1 + 0.25) / 2)
    assert float(box_losses.squared_cost(action, prev)[0]) == pytest.approx((1 + 0.0625) / 2)


def test_blend_is_exactly_the_core_and_exactly_the_last_action_at_its_ends() -> None:
    core, prev = RNG.uniform(-1, 1, (2, 1000)).astype(np.float32)
    zero, one = np.zeros(1000, np.float32), np.ones(1000, np.float32)
    np.testing.assert_array_equal(box_losses.blend(core, prev, zero, np), core)
    np.testing.assert_array_equal(box_losses.blend(core, prev, one, np), prev)
    half = box_losses.blend(core, prev, 0.5 * one, np)
    np.testing.assert_allclose(half, (core + prev) / 2, atol=1e-6)


def test_clipped_mu_keeps_the_gradient_of_what_was_clipped() -> None:
    x = jnp.array([-0.5, 0.3, 1.7])
    assert box_losses.unclipped(x).tolist() == pytest.approx([0.0, 0.3, 1.0])
    assert jax.grad(lambda x: box_losses.unclipped(x).sum())(x).tolist() == [1, 1, 1]


@pytest.mark.parametrize("cost", [box_losses.l1_cost, box_losses.squared_cost])
def test_gradient_of_the_priced_actor_is_that_of_finite_differences(cost: Any) -> None:
    prev, core = RNG.uniform(-1, 1, (2, 4, 2))

    def loss(x: Any) -> Any:
        action = box_losses.blend(core, prev, x.reshape(4, 2))
        u = (action * jnp.array([1.0, -2.0])).sum(-1) - (action**2).sum(-1)
        return box_losses.priced_actor_loss(u, 0.7, cost(action, prev))

    finite_difference(loss, RNG.uniform(0.1, 0.9, 8))


def test_l1_has_a_dead_band_and_squared_goes_a_share_of_the_way() -> None:
    """The best a for U = -(a - goal)^2 after the price: found on a grid, and known by hand."""
    grid, price = np.linspace(-1, 1, 200_001)[:, None], 1.0

    def best(cost: Any, goal: float) -> float:
        q = -((grid[:, 0] - goal) ** 2) - price * np.asarray(cost(grid, np.zeros((1, 1))))
        return float(grid[np.argmax(q), 0])

    with jax.enable_x64(True):
        assert best(box_losses.l1_cost, 0.2) == pytest.approx(0.0, abs=1e-4)  # below price / 4
        assert best(box_losses.l1_cost, 0.6) == pytest.approx(0.6 - 0.25, abs=1e-4)
        assert best(box_losses.squared_cost, 0.6) == pytest.approx(0.6 / 1.25, abs=1e-4)


def test_caps_distance_is_the_mean_length_and_has_a_gradient_at_zero() -> None:
    action, other = np.array([[3.0, 4.0], [0.0, 0.0]]), np.zeros((2, 2))
    assert float(box_losses.caps_distance(action, other)) == pytest.approx(2.5, abs=1e-5)
    gradient = jax.grad(lambda a: box_losses.caps_distance(a, other))(jnp.zeros((2, 2)))
    assert np.isfinite(gradient).all()
    weights = RNG.normal(size=(4, 2))

    def loss(x: Any) -> Any:
        return box_losses.caps_distance(x.reshape(4, 2), weights)

    finite_difference(loss, RNG.normal(size=8))


def test_alignment_is_half_the_mean_square_and_moves_its_first_part_alone() -> None:
    a, b = RNG.normal(size=(2, 4, 3))
    assert box_losses.alignment(a, b) == pytest.approx(0.5 * np.mean((a - b) ** 2), rel=1e-6)
    finite_difference(lambda x: box_losses.alignment(x.reshape(4, 3), b), a.ravel())
    assert not jax.grad(lambda x: box_losses.alignment(a, x))(b).any()


def test_bend_is_the_weighted_second_difference_where_a_state_before_is_known() -> None:
    before, action, after = RNG.normal(size=(3, 4, 2))
    known = np.array([True, False, True, True])
    weight = np.tanh(1 / (after - before + 1e-4) ** 2)
    squares = [
        0.5 * (2 * a - p - n) ** 2 * w if k else 0 * a
        for p, a, n, w, k in zip(before, action, after, weight, known, strict=True)
    ]
    ours = box_losses.bend(before, action, after, known)
    assert ours == pytest.approx(np.mean(squares), rel=1e-5)
    line = box_losses.bend(before, (before + after) / 2, after, known)
    assert line == pytest.approx(0, abs=1e-12)  # on a straight line there is nothing to pay


def test_gradient_of_bend_is_that_of_finite_differences_with_a_fixed_weight() -> None:
    before, action, after = RNG.normal(size=(3, 4, 2))
    known = np.ones(4, bool)
    finite_difference(
        lambda x: box_losses.bend(before, x.reshape(4, 2), after, known), action.ravel()
    )
    weight = np.tanh(1 / (after - before + 1e-4) ** 2)
    with jax.enable_x64(True):
        gradient = jax.grad(lambda x: box_losses.bend(before, action, x, known))(after)
    expected = -(2 * action - before - after) * weight / action.size
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
