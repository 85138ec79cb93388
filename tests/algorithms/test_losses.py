"""Losses and targets against numbers worked out by hand and an independent NumPy computation."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.networks.perceptron import log_softmax
from policy_inertia.tabular.iteration import soft_inertia
from policy_inertia.types import Array
from tests.algorithms import reference


def test_soft_value_by_hand() -> None:
    # pi = (1/4, 3/4), Q = (2, 4), alpha = 0.5: 0.5 + 3 + 0.5 * (ln 4 / 4 + 3 ln(4/3) / 4)
    pi = np.array([0.25, 0.75])
    expected = 3.5 + 0.5 * (np.log(4) / 4 + 0.75 * np.log(4 / 3))
    assert expected == pytest.approx(3.7811676)
    assert losses.soft_value(np.log(pi), np.array([2.0, 4.0]), 0.5) == pytest.approx(expected)


def test_bellman_target_by_hand() -> None:
    target = losses.bellman_target(
        np.array([1.0, 2.0]), np.array([0.9, 0.0]), np.array([10.0, 7.0])
    )
    assert target.tolist() == pytest.approx([10.0, 2.0])  # a terminated step has discount 0


def test_bellman_residual_by_hand() -> None:
    q = np.array([[1.0, 5.0], [2.0, 7.0]])
    # (5 - 3)^2 / 2 = 2 and (2 - 5)^2 / 2 = 4.5, their mean 3.25
    assert losses.bellman_residual(q, np.array([1, 0]), np.array([3.0, 5.0])) == pytest.approx(3.25)


def test_twins_residuals_are_summed() -> None:
    q = np.array([[[1.0, 5.0]], [[2.0, 7.0]]])  # twins (5 - 3)^2 / 2 = 2 and (7 - 3)^2 / 2 = 8
    assert losses.bellman_residual(q, np.array([1]), np.array([3.0])) == pytest.approx(10.0)


def test_soft_policy_loss_by_hand() -> None:
    # uniform over two actions: 0.1 * ln(1/2) - (1 + 2) / 2
    log_pi = np.log(np.full((1, 2), 0.5))
    expected = -0.1 * np.log(2) - 1.5
    assert losses.soft_policy_loss(log_pi, np.array([[1.0, 2.0]]), 0.1) == pytest.approx(expected)


def test_greedy_value_and_policy_by_hand() -> None:
    q = np.array([[1.0, 3.0, 3.0], [0.0, -1.0, -2.0]], np.float32)
    assert losses.greedy_value(q).tolist() == [3.0, 0.0]
    assert np.exp(losses.log_greedy(q, np)).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_temperature_rises_where_the_entropy_is_too_low() -> None:
    low, high = np.log([[0.99, 0.01]]), np.log([[0.5, 0.5]])
    gradient = jax.grad(losses.temperature_loss)
    assert gradient(0.0, low, 0.5) < 0  # descent raises alpha
    assert gradient(0.0, high, 0.5) > 0


def test_inertia_is_the_rescaled_tanh() -> None:
    x = np.array([-0.5, 0.0, 0.5, 40.0])
    # tanh(1/2) = 0.46211716; mu0 + (1 - mu0) (tanh + 1) / 2
    expected = [0.2 + 0.8 * 0.26894142, 0.6, 0.2 + 0.8 * 0.73105858, 1.0]
    assert losses.inertia(x, 0.2, np).tolist() == pytest.approx(expected)


def test_mixture_by_hand() -> None:
    # x = 0 gives mu = 1/2: half on action 0, half of (0.2, 0.3, 0.5)
    log_core = np.log(np.array([[0.2, 0.3, 0.5]]))
    mixed = np.exp(losses.log_mixture(np.zeros(1), log_core, np.array([0]), 0.0))
    assert mixed[0].tolist() == pytest.approx([0.6, 0.15, 0.25])
    # mu0 = 1/2 and x = 0: mu = 3/4
    mixed = np.exp(losses.log_mixture(np.zeros(1), log_core, np.array([2]), 0.5))
    assert mixed[0].tolist() == pytest.approx([0.05, 0.075, 0.875])


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize("mu0", [0.0, 0.3])
def test_mixture_sums_to_one_and_is_the_core_without_a_previous_action(xp: Any, mu0: float) -> None:
    rng = np.random.default_rng(0)
    log_core = log_softmax(rng.normal(0, 3, (200, 5)).astype(np.float32), xp)
    x = rng.normal(0, 4, 200).astype(np.float32)
    prev = rng.integers(-1, 5, 200)
    log_pi = losses.log_mixture(x, log_core, prev, mu0, xp)
    np.testing.assert_allclose(np.exp(log_pi).sum(1), 1, atol=2e-6)
    np.testing.assert_array_equal(log_pi[prev < 0], log_core[prev < 0])


@pytest.mark.parametrize("mu0", [0.0, 0.3])
@pytest.mark.parametrize("spread", [1.0, 120.0])
@pytest.mark.parametrize("x", [-60.0, -9.5, -1.0, 0.0, 1.0, 9.5, 60.0])
def test_mixture_gradients_are_finite_and_right_far_out(
    x: float, spread: float, mu0: float
) -> None:
    """Against the closed form, in float64: pi_i' = mu'(1[i = prev] - core_i)."""
    logits = np.array([[spread, -spread, 0.0]])
    shifted = logits - logits.max()
    core = np.exp(shifted) / np.exp(shifted).sum()
    for prev in (0, 1, 2):

        def value(x, prev=prev):
            log_core = log_softmax(jnp.array(logits, jnp.float32))
            log_pi = losses.log_mixture(x[None], log_core, np.array([prev]), mu0)
            q = jnp.array([[1.0, -2.0, 0.5]])
            return losses.soft_policy_loss(log_pi, q, 0.0), log_pi

        (_, log_pi), gradient = jax.value_and_grad(value, has_aux=True)(jnp.float32(x))
        assert np.isfinite(log_pi).all()
        slope = (1 - mu0) * 2 / (np.exp(x) + np.exp(-x)) ** 2  # of mu
        repeat = np.eye(3)[prev]
        expected = -(slope * (repeat - core[0]) * np.array([1.0, -2.0, 0.5])).sum()
        # where repeating is what the core does anyway the terms cancel, in float32 to 1e-7 of them
        assert gradient == pytest.approx(expected, rel=1e-4, abs=2e-6 * slope + 1e-37)


@pytest.mark.parametrize("x", [-60.0, 0.3, 60.0])
@pytest.mark.parametrize("spread", [0.5, 120.0])
def test_entropy_gradient_stays_finite_far_out(x: float, spread: float) -> None:
    def value(x):
        log_core = log_softmax(jnp.array([[spread, -spread, 0.0]]))
        log_pi = losses.log_mixture(x[None], log_core, np.array([1]), 0.0)
        return losses.soft_policy_loss(log_pi, jnp.zeros((1, 3)), 0.01)

    assert np.isfinite(jax.grad(value)(jnp.float32(x)))


def test_losses_and_gradients_agree_with_an_independent_computation() -> None:
    rng = np.random.default_rng(3)
    log_core = np.log(rng.dirichlet(np.ones(4), 16))
    x, q = rng.normal(0, 1, 16), rng.normal(0, 1, (16, 4))
    prev = rng.integers(-1, 4, 16)

    def ours(x):
        return losses.soft_policy_loss(losses.log_mixture(x, log_core, prev, 0.1), q, 0.3)

    def theirs(x):
        pi = reference.mixture(x, np.exp(log_core), prev, 0.1)
        return float(np.mean([p @ (0.3 * np.log(p) - row) for p, row in zip(pi, q, strict=True)]))

    value, gradient = jax.value_and_grad(ours)(jnp.array(x))
    assert value == pytest.approx(theirs(x), rel=1e-5)
    np.testing.assert_allclose(gradient, reference.differences(theirs, x), rtol=2e-3, atol=1e-6)


def test_pic_loss_moves_no_core_parameter() -> None:
    rng = np.random.default_rng(0)
    x, q, prev = rng.normal(0, 1, 8), rng.normal(0, 1, (8, 3)), rng.integers(0, 3, 8)

    def value(core_logits):
        log_pi = losses.log_mixture(x, log_softmax(core_logits), prev, 0.0)
        return losses.soft_policy_loss(log_pi, q, 0.1)

    gradient = jax.grad(value)(jnp.array(rng.normal(0, 1, (8, 3))))
    assert not np.any(gradient)


def test_huber_loss_is_linear_beyond_its_size_by_hand() -> None:
    q = np.array([[0.5, 0.0], [0.0, -3.0]])  # errors 0.5 and -3 - 1 = -4
    action, target = np.array([0, 1]), np.array([0.0, 1.0])
    squared = losses.bellman_residual(q, action, target)
    assert float(squared) == pytest.approx((0.125 + 8.0) / 2)
    huber = losses.bellman_residual(q, action, target, 2.0)
    assert float(huber) == pytest.approx((0.125 + 2 * (4 - 1)) / 2)


def random_cells() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q(s, a_prev, .), cores and previous actions; some cores are certain of one action."""
    rng, n = np.random.default_rng(0), 300
    core = rng.dirichlet(np.ones(4), n)
    core[:40] = np.eye(4)[rng.integers(4, size=40)]
    return rng.normal(size=(n, 4)), core, rng.integers(4, size=n)


def log(core: np.ndarray) -> jax.Array:
    return jnp.asarray(np.where(core > 0, np.log(np.maximum(core, 1e-300)), losses.LOG_ZERO))


def test_best_inertia_is_that_of_the_exact_theory() -> None:
    q, core, prev = random_cells()
    mu, weight = losses.best_inertia(jnp.asarray(q), log(core), jnp.asarray(prev), 0.2)
    rows = np.arange(len(q))
    expected = soft_inertia(np.repeat(q[:, None], 5, 1), core, 0.2)[rows, prev]
    matters = core[rows, prev] < 1
    np.testing.assert_allclose(np.asarray(mu)[matters], expected[matters], atol=2e-5)
    np.testing.assert_allclose(weight, 1 - core[rows, prev], atol=1e-6)
    assert (~matters).any()
    assert (expected[:40] > 0.9).any()
    assert (expected == 0).any()


def test_without_a_previous_action_mu_has_no_weight() -> None:
    q, core, prev = random_cells()
    mu, weight = losses.best_inertia(jnp.asarray(q), log(core), jnp.full_like(prev, -1), 0.2)
    assert (np.asarray(weight) == 0).all()
    assert np.isfinite(mu).all()


def test_best_inertia_is_exact_where_the_core_is_nearly_certain() -> None:
    # the core repeats with 1 - 1e-6; the other action is worth 1 more, so mu is 0; 1 less: 1 - 2e-9
    log_core = jnp.log(jnp.array([[1 - 1e-6, 1e-6]]))
    for gain, expected in ((-1.0, 0.0), (1.0, 1.0)):
        mu, weight = losses.best_inertia(
            jnp.array([[gain, 0.0]]), log_core, jnp.zeros(1, int), 0.05
        )
        assert float(mu[0]) == pytest.approx(expected, abs=3e-3)
        assert float(weight[0]) == pytest.approx(1e-6, rel=0.1)


@pytest.mark.parametrize("mu0", [0.0, 0.3])
def test_gradient_of_the_fit_does_not_vanish(mu0: float) -> None:
    x = jnp.array([-30.0, -30.0, 0.0, 30.0])
    best, weight = jnp.array([0.9, 0.0, 0.5, 0.2]), jnp.array([1.0, 1.0, 0.5, 1.0])
    slope = jax.grad(losses.inertia_fit)(x, best, weight, mu0)
    target = np.maximum((np.asarray(best) - mu0) / (1 - mu0), 0)
    own = np.array([0.0, 0.0, 0.5, 1.0])
    # mean over four cells; the logit is 2x
    np.testing.assert_allclose(slope, 2 * np.asarray(weight) * (own - target) / 4, atol=1e-6)


def test_the_papers_gradient_vanishes_where_the_fit_does_not() -> None:
    """The fault that the fit mends: mu near 0 though repeating is worth more than the core."""
    q, log_core, prev = jnp.array([[1.0, 0.0]]), jnp.log(jnp.array([[0.5, 0.5]])), jnp.zeros(1, int)

    def paper(x: Array) -> Array:
        return losses.soft_policy_loss(losses.log_mixture(x, log_core, prev, 0.0), q, 0.01)

    def fit(x: Array) -> Array:
        return losses.inertia_fit(x, *losses.best_inertia(q, log_core, prev, 0.01), 0.0)

    dead = jnp.array([-8.0])
    assert abs(float(jax.grad(paper)(dead)[0])) < 1e-6
    assert float(jax.grad(fit)(dead)[0]) < -0.9


def test_double_value_takes_the_online_networks_action() -> None:
    q, online = jnp.array([[1.0, 5.0], [2.0, 3.0]]), jnp.array([[4.0, 0.0], [0.0, 1.0]])
    assert losses.double_value(q, online).tolist() == [1.0, 3.0]
