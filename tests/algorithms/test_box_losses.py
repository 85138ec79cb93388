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
