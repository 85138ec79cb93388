"""Errors that count by how certain their rewards are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.algorithms import losses
from policy_inertia.algorithms.branching_losses import branching_residual
from policy_inertia.algorithms.learning import adam, init_critics
from policy_inertia.algorithms.reward_noise import RewardNoise
from policy_inertia.algorithms.value_scale import scaled_evaluation
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Transition
from tests.algorithms.test_nested import SPEC, minibatch


def test_moments_loss_by_hand() -> None:
    # sigma = 2: 2/2 (9 / 4 + ln 4); sigma = 1: 1/2 (1 / 1 + 0)
    log_variance, mean, x = np.log([4.0, 1.0]), np.array([5.0, 1.0]), np.array([2.0, 2.0])
    expected = ((9 / 4 + np.log(4)) + 0.5) / 2
    assert losses.moments_loss(mean, log_variance, x) == pytest.approx(expected, rel=1e-6)


def test_minimum_of_the_moments_loss_is_mean_and_variance() -> None:
    x = np.array([1.0, -2.0, 4.0, 3.0])
    mean, best = x.mean(), np.log(x.var())
    loss = jax.grad(lambda m, v: losses.moments_loss(jnp.full(4, m), jnp.full(4, v), x), (0, 1))
    np.testing.assert_allclose(loss(mean, best), 0, atol=1e-5)
    assert loss(mean - 1, best)[0] < 0 < loss(mean + 1, best)[0]
    assert loss(mean, best - 1)[1] < 0 < loss(mean, best + 1)[1]


def test_weights_by_hand() -> None:
    # variances 1, 1 and 64, their geometric mean 4: 1/5, 1/5 and 1/68, with the mean 141/1020
    weights = losses.precision_weights(np.log([1.0, 64.0, 1.0]), np.zeros(3))
    np.testing.assert_allclose(weights, np.array([1 / 5, 1 / 68, 1 / 5]) * 1020 / 141, rtol=1e-5)
    # values of 60, 0 and 0: a mean square of 1200, so 3 more in each denominator
    weights = losses.precision_weights(np.log([1.0, 64.0, 1.0]), np.array([60.0, 0.0, 0.0]))
    by_hand = np.array([1 / 8, 1 / 71, 1 / 8])
    np.testing.assert_allclose(weights, by_hand / by_hand.mean(), rtol=1e-5)


def test_noise_below_the_values_counts_little() -> None:
    noisy = np.log([1.0, 25.0, 1.0, 1.0])  # deviations of 1 and 5, values of 1,000
    weights = losses.precision_weights(noisy, np.full(4, 1000.0))
    np.testing.assert_allclose(weights, 1, rtol=0.02)


def test_rows_count_by_their_weights() -> None:
    q, action = np.array([[[1.0, 5.0], [2.0, 7.0]]]), np.array([1, 0])
    target, weights = np.array([3.0, 5.0]), np.array([0.5, 1.5])
    # (5 - 3)^2 / 2 = 2 and (2 - 5)^2 / 2 = 4.5: (0.5 * 2 + 1.5 * 4.5) / 2
    assert losses.bellman_residual(q, action, target, None, weights) == pytest.approx(3.875)
    # from an error of 1 on linear: 1.5 and 2.5
    assert losses.bellman_residual(q, action, target, 1.0, weights) == pytest.approx(2.25)
    heads, parts = np.stack([action, action], -1), (slice(0, 2), slice(2, 4))
    twice = np.concatenate([q, q], -1)
    value = branching_residual(twice, heads, target, parts, weights=weights)
    assert value == pytest.approx(3.875)


def noisy_batch(rng: np.random.Generator, n: int = 64) -> Transition:
    """Two states: in the first a reward of 1, in the rare second one 100 more or less than 3."""
    obs = np.eye(2, SPEC.obs_dim, dtype=np.float32)[(rng.random(n) < 0.1).astype(int)]
    second = obs[:, 1] > 0
    reward = np.where(second, 3 + 100 * rng.choice([-1, 1], n), 1.0).astype(np.float32)
    action = rng.integers(SPEC.actions.width, size=n)
    return Transition(obs, action, action, reward, np.zeros(n, np.float32), obs)


def test_a_noisy_state_does_not_blur_a_certain_one() -> None:
    """Without weights, the value of the certain one is far off."""
    network, optimiser = Network(SPEC, (16,), SPEC.actions.width), adam(3e-3)

    def errors(weighted: bool) -> float:
        rng = np.random.default_rng(0)
        noise = RewardNoise(SPEC, (16,), 3e-3) if weighted else None
        critics = init_critics(rng, network, optimiser)
        if noise is not None:
            critics = critics._replace(noise=noise.init(rng))

        @jax.jit
        def step(critics: Any, size: Any, batch: Transition) -> Any:
            batch = batch._replace(reward=batch.reward / size)
            return scaled_evaluation(
                critics, size, network, optimiser, batch, None, jnp.zeros(64), 0.01, noise=noise
            )

        size, off = jnp.float32(30.0), []
        for count in range(2_000):
            critics, size, _ = step(critics, size, noisy_batch(rng))
            if count >= 1_000:
                q = network(critics.online, np.eye(1, SPEC.obs_dim, dtype=np.float32)) * size
                off.append(np.abs(np.asarray(q) - 1.0).mean())
        return float(np.mean(off))

    weighted = errors(True)
    assert weighted < 0.1
    assert errors(False) > 5 * weighted


def test_variances_are_learned_for_each_action() -> None:
    rng = np.random.default_rng(0)
    noise = RewardNoise(SPEC, (16,), 1e-2)
    state, batch = noise.init(rng), minibatch(64)
    learn = jax.jit(noise.learn)
    for _ in range(500):
        reward = np.where(batch.action == 1, rng.normal(0, 10, 64), rng.normal(0, 0.1, 64))
        state = learn(state, batch, reward.astype(np.float32))
    weights = noise.weights(state, batch, jnp.zeros(64))
    assert weights.mean() == pytest.approx(1, rel=1e-5)
    first, others = weights[batch.action == 1], weights[batch.action != 1]
    assert first.max() < 0.1 * others.min()


def test_large_rewards_that_are_certain_are_no_noise() -> None:
    """What an action earns differs by 100, but it is always the same."""
    noise = RewardNoise(SPEC, (16,), 1e-2)
    state, batch = noise.init(np.random.default_rng(0)), minibatch(64)
    learn = jax.jit(noise.learn)
    reward = np.where(batch.action == 1, 100.0, 0.0).astype(np.float32) / 50
    for _ in range(2_000):
        state = learn(state, batch, reward)
    weights = noise.weights(state, batch, jnp.full(64, 2.0))  # the size of the rewards
    np.testing.assert_allclose(weights, 1, rtol=0.1)


def test_prices_are_no_noise() -> None:
    """The critics learn at random prices; the env's rewards are certain."""
    noise = RewardNoise(SPEC, (16,), 1e-2)
    network, optimiser = Network(SPEC, (16,), SPEC.actions.width), adam(1e-3)
    rng = np.random.default_rng(0)
    critics = init_critics(rng, network, optimiser)._replace(noise=noise.init(rng))
    batch, paid = minibatch(64), jnp.ones(64)

    @jax.jit
    def step(critics: Any, price: Any) -> Any:
        charged = batch._replace(reward=paid - price * (batch.action == 1))
        return scaled_evaluation(
            critics,
            jnp.ones(()),
            network,
            optimiser,
            charged,
            None,
            jnp.zeros(64),
            0.01,
            noise=noise,
            reward=paid,
        )[0]

    for price in rng.exponential(5.0, 1_000):
        critics = step(critics, price)
    weights = noise.weights(critics.noise, batch, jnp.ones(64))
    np.testing.assert_allclose(weights, 1, rtol=0.05)


def test_heads_have_one_variance_together() -> None:
    spec = SPEC._replace(actions=MultiDiscrete((2, 3), (0, 0)))
    noise = RewardNoise(spec, (8,), 1e-3)
    batch = minibatch(8)._replace(action=np.zeros((8, 2), np.int64))
    learned = noise.learn(noise.init(np.random.default_rng(0)), batch, jnp.ones(8))
    assert noise.weights(learned, batch, jnp.zeros(8)).shape == (8,)
