"""Statistics of VecNormalize, applied as Stable-Baselines3 applies them."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, export, load_core
from policy_inertia.policies.probing import example_observations
from tests.support.cores import scores_of
from tests.support.sb3_models import SB3Model, sb3_values


@pytest.fixture(scope="module")
def normalised() -> tuple[Any, Any]:
    """A model that was trained inside a VecNormalize, and that VecNormalize."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    env = VecNormalize(make_vec_env("CartPole-v1", 2, seed=0), clip_obs=1.5)
    return PPO("MlpPolicy", env, n_steps=64, device="cpu", seed=0).learn(256), env


def observations() -> np.ndarray:
    return 2 * example_observations(gym.make("CartPole-v1").observation_space, 500)


def test_statistics_are_applied_as_stable_baselines_does(
    normalised: tuple[Any, Any], tmp_path: Path
) -> None:
    model, env = normalised
    model.save(tmp_path / "CartPole-v1.zip")
    env.save(tmp_path / "vecnormalize.pkl")
    rms = env.obs_rms
    np.savez(tmp_path / "statistics.npz", mean=rms.mean, var=rms.var, epsilon=env.epsilon, clip=1.5)
    obs = observations()
    theirs = sb3_values(model, env.normalize_obs(obs))
    zipped = tmp_path / "CartPole-v1.zip"
    cores = [
        load_core(model, "CartPole-v1"),
        load_core(zipped, "CartPole-v1", normalise=env),
        load_core(zipped, "CartPole-v1", normalise=tmp_path / "statistics.npz"),
        load_core(zipped, "CartPole-v1", normalise=tmp_path / "vecnormalize.pkl", trust=True),
        load_core(tmp_path, "CartPole-v1", trust=True),  # RL Zoo keeps both in one folder
    ]
    for core in cores:
        np.testing.assert_allclose(scores_of(core, obs), theirs, atol=1e-5)
        assert export(core, tmp_path / "n.onnx").difference < 1e-5
    clipped_at_10 = load_core(zipped, "CartPole-v1", normalise=(rms.mean, rms.var))
    assert abs(clipped_at_10.acting(obs).scores - theirs).max() > 1e-3


def test_statistics_are_left_out_where_observations_are_normalised_or_the_user_says_so(
    normalised: tuple[Any, Any],
) -> None:
    model, env = normalised
    obs = observations()
    raw = sb3_values(model, obs)
    assert abs(raw - sb3_values(model, env.normalize_obs(obs))).max() > 1e-3
    for core in (load_core(model, "CartPole-v1", normalise=False), load_core(model, env)):
        np.testing.assert_allclose(scores_of(core, obs), raw, atol=1e-5)


def test_statistics_that_do_not_fit_are_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    with pytest.raises(InputError, match=r"mean of shape \(3,\) .* observations have shape \(4,\)"):
        load_core(path, "CartPole-v1", normalise=(np.zeros(3), np.ones(3)))
    with pytest.raises(InputError, match="normalise is int: give a VecNormalize"):
        load_core(path, "CartPole-v1", normalise=3)
    np.savez(tmp_path / "bare.npz", mean=np.zeros(4))
    for name in ("bare.npz", "missing.npz"):
        with pytest.raises(InputError, match="cannot be read as VecNormalize statistics"):
            load_core(path, "CartPole-v1", normalise=tmp_path / name)
