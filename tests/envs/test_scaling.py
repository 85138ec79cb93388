"""Observations on their own scale: measured once, then part of the policy."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, export, load_core
from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.scaling_probe import scaled_spaces
from policy_inertia.envs.spaces import Spaces
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support.policies import fresh


def stretched(factor: float, shift: float = 0.0) -> Any:
    """CartPole in other units."""

    def make() -> gym.Env:
        env = gym.make("CartPole-v1")
        space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        return gym.wrappers.TransformObservation(
            env, lambda obs: (obs * factor + shift).astype(np.float32), space
        )

    return make


def scaling_of(env: Any) -> Scaling:
    scaling = scaled_spaces(env, seed=3).scaling
    assert scaling is not None
    return scaling


def test_encoding_centres_and_divides() -> None:
    spaces = Spaces((2, 1), Discrete(3), scaling=Scaling((1.0, -2.0), (2.0, 0.5)))
    obs = np.array([[[5.0], [-1.0]]])
    encoded = spaces.encode(obs)
    assert encoded.tolist() == [[2.0, 2.0]]
    assert spaces.decode(encoded).tolist() == obs.tolist()
    assert obs.tolist() == [[[5.0], [-1.0]]]
    assert Spaces.from_dict(spaces.to_dict()) == spaces
    assert spaces.unscaled.encode(obs).tolist() == [[5.0, -1.0]]


def test_random_actions_give_large_observations_a_mean_of_0_and_a_deviation_of_1() -> None:
    spaces = scaled_spaces(stretched(1000.0, 50.0), seed=3)
    env, seen = stretched(1000.0, 50.0)(), []
    rng = np.random.default_rng(0)
    for episode in range(100):
        obs, _ = env.reset(seed=episode)
        over = False
        while not over:
            seen.append(obs)
            obs, _, terminated, truncated, _ = env.step(int(rng.integers(2)))
            over = terminated or truncated
    encoded = spaces.encode(np.array(seen))
    assert np.abs(encoded.mean(0)).max() < 0.3
    assert ((encoded.std(0) > 1 / 3) & (encoded.std(0) < 3)).all()


def test_observations_of_a_usual_size_stay_as_they_are() -> None:
    assert scaling_of("CartPole-v1") == Scaling((0.0,) * 4, (1.0,) * 4)
    car = scaling_of("MountainCar-v0")  # positions from -1.2 to 0.6, velocities up to 0.07
    assert (car.center[0], car.deviation[0]) == (0.0, 1.0)
    assert car.deviation[1] == pytest.approx(0.14 / 4)  # a quarter of its range


def test_training_does_not_depend_on_the_units_of_observations() -> None:
    def weights(env: Any) -> np.ndarray:
        config = settings("dqn", "CartPole-v1", normalise=True, learning_starts=100, hidden=(8,))
        session = Session(config, env)
        while session.step < 400:
            session.advance()
        return session.policy().params[0]["w"]

    # powers of two, so that not even rounding differs
    plain, large = (weights(stretched(factor)) for factor in (2.0**10, 2.0**20))
    np.testing.assert_array_equal(plain, large)


def test_a_number_that_hardly_moves_is_not_blown_up() -> None:
    still = stretched(0.0, shift=7.0)
    scaling = scaling_of(still)
    assert scaling.center == (7.0,) * 4
    assert scaling.deviation == pytest.approx((1e-3,) * 4)


def test_pixels_and_discrete_observations_have_no_scale() -> None:
    assert scaled_spaces("Taxi-v4", seed=0).scaling is None


@pytest.mark.parametrize("method", ["dqn", "nsac", "dial-dqn", "limit-dqn"])
def test_scale_is_part_of_the_policy_in_every_file(method: str, tmp_path: Path) -> None:
    policy = fresh(method, stretched(100.0), normalise=True)
    assert policy.spaces.scaling is not None
    obs = np.random.default_rng(0).normal(0, 1, (50, 4)).astype(np.float32)
    action, _ = policy.predict(obs, deterministic=True)
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    assert loaded.spaces == policy.spaces
    np.testing.assert_array_equal(loaded.predict(obs, deterministic=True)[0], action)
    export(policy, tmp_path / "p.onnx")  # compares the file with the policy by itself
    core = load_core(policy, stretched(100.0))
    assert core.spaces.scaling is None
    own = policy.core().predict(obs, deterministic=True)[0]
    np.testing.assert_array_equal(core.predict(obs, deterministic=True)[0], own)
    assert evaluate(policy, stretched(100.0), 2).summary()["episodes"] == 2


@pytest.mark.parametrize(
    ("center", "deviation", "sentence"),
    [
        ((0.0,), (0.0,), "deviation of 0 or less"),
        ((float("nan"),), (1.0,), "not finite"),
        ((0.0, 0.0), (1.0,), "2 centres and 1 deviations"),
        ((0.0, 0.0), (1.0, 1.0), "2 numbers and they are of shape"),
    ],
)
def test_a_wrong_scale_is_refused(
    center: tuple[float, ...], deviation: tuple[float, ...], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Spaces((3,), Discrete(2), scaling=Scaling(center, deviation))
