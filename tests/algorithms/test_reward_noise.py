"""Errors that count by how certain their rewards are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.algorithms import losses
from policy_inertia.algorithms.branching_losses import branching_residual
from policy_inertia.algorithms.learning import adam, init_critics
from policy_inertia.algorithms.reward_noise import Cleaned, RewardNoise
from policy_inertia.algorithms.value_scale import scaled_evaluation
from policy_inertia.envs.spec import Spec
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
    # 1/400 with variances 3/400, 3/400 and 7/400: 100, 100 and 50, with the mean 250/3
    weights = losses.precision_weights(np.log([3 / 400, 7 / 400, 3 / 400]))
    np.testing.assert_allclose(weights, [1.2, 0.6, 1.2], rtol=1e-5)


def test_noise_below_a_twentieth_of_the_values_counts_little() -> None:
    weights = losses.precision_weights(np.log(np.array([0.0001, 0.01, 0.001, 0.0001]) ** 2))
    np.testing.assert_allclose(weights, 1, rtol=0.04)


def test_cleaned_rewards_by_hand() -> None:
    # variances of 0, 1/400 and 3/400: all, half and a quarter of what is above the mean stays
    log_variance = np.log([1e-12, 1 / 400, 3 / 400])
    cleaned = losses.cleaned_reward(np.full(3, 9.0), np.full(3, 1.0), log_variance)
    np.testing.assert_allclose(cleaned, [9, 5, 3], rtol=1e-5)


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


def learned(
    reward_of: Callable[[np.random.Generator], np.ndarray], batch: Transition, updates: int = 4_000
) -> Cleaned:
    """What the networks make of rewards after they have learned them."""
    rng = np.random.default_rng(0)
    noise = RewardNoise(SPEC, (32,), 3e-3)
    state, learn = noise.init(rng), jax.jit(noise.learn)
    for _ in range(updates):
        state, cleaned = learn(state, batch, reward_of(rng).astype(np.float32))
    return cleaned


def test_variances_are_learned_for_each_action() -> None:
    batch = minibatch(64)
    noisy = batch.action == 1
    cleaned = learned(lambda rng: rng.normal(0.5, np.where(noisy, 2.0, 0.01)), batch)
    assert cleaned.weights.mean() == pytest.approx(1, rel=1e-5)
    assert cleaned.weights[noisy].max() < 0.1 * cleaned.weights[~noisy].min()
    assert np.abs(cleaned.reward[noisy] - 0.5).max() < 1 < 2 * np.sqrt(noisy.sum())
    np.testing.assert_allclose(cleaned.reward[~noisy], 0.5, atol=0.05)


def test_large_rewards_that_are_certain_are_no_noise() -> None:
    """What an action earns differs by 100, but it is always the same."""
    batch = minibatch(64)
    reward = np.where(batch.action == 1, 100.0, 0.0) / 50
    cleaned = learned(lambda rng: reward, batch)
    np.testing.assert_allclose(cleaned.weights, 1, rtol=0.1)
    np.testing.assert_allclose(cleaned.reward, reward, atol=0.02)


@pytest.mark.parametrize("seen", ["the next observation", "an end"])
def test_what_the_outcome_explains_is_no_noise(seen: str) -> None:
    """Who falls is chance at (s, a), but a fall costs 2 each time."""
    batch = minibatch(64)
    obs = np.zeros_like(batch.obs)
    falls = np.arange(64) % 2 == 0
    if seen == "an end":
        batch = batch._replace(discount=np.where(falls, 0, 0.9).astype(np.float32), next_obs=obs)
    else:
        then = np.where(falls[:, None], 1, obs).astype(np.float32)
        batch = batch._replace(discount=np.full(64, 0.9, np.float32), next_obs=then)
    batch = batch._replace(obs=obs, action=np.zeros_like(batch.action))
    reward = np.where(falls, -2.0, 0.0)
    cleaned = learned(lambda rng: reward, batch)
    np.testing.assert_allclose(cleaned.reward, reward, atol=0.05)
    np.testing.assert_allclose(cleaned.weights, 1, rtol=0.05)


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
    state: Any = critics.noise
    cleaned = noise.learn(state, batch, paid)[1]
    np.testing.assert_allclose(cleaned.weights, 1, rtol=0.05)
    np.testing.assert_allclose(cleaned.reward, 1, atol=0.02)


def test_heads_have_one_variance_together() -> None:
    spec = SPEC._replace(actions=MultiDiscrete((2, 3), (0, 0)))
    noise = RewardNoise(spec, (8,), 1e-3)
    batch = minibatch(8)._replace(action=np.zeros((8, 2), np.int64))
    cleaned = noise.learn(noise.init(np.random.default_rng(0)), batch, jnp.ones(8))[1]
    assert cleaned.weights.shape == cleaned.reward.shape == (8,)


def test_images_are_cleaned_without_the_next_one() -> None:
    spec = Spec(600, SPEC.actions, image=(6, 10, 10), planes=True)
    noise, rng = RewardNoise(spec, (8,), 1e-3), np.random.default_rng(0)
    obs = rng.integers(0, 255, (4, spec.obs_dim), dtype=np.uint8)
    batch = minibatch(4)._replace(obs=obs, next_obs=obs)
    cleaned = noise.learn(noise.init(rng), batch, jnp.ones(4))[1]
    assert cleaned.reward.shape == (4,)
