"""Statistics of VecNormalize, applied as Stable-Baselines3 applies them."""

import io
import pickle
import zipfile
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
        load_core(zipped, "CartPole-v1", normalise=tmp_path / "vecnormalize.pkl"),
        load_core(tmp_path, "CartPole-v1"),  # RL Zoo keeps both in one folder
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
    with pytest.raises(InputError, match="cannot be read as VecNormalize statistics"):
        load_core(path, "CartPole-v1", normalise=tmp_path / "bare.npz")
    with pytest.raises(InputError, match=r"there is no file .*missing\.npz"):
        load_core(path, "CartPole-v1", normalise=tmp_path / "missing.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": [0, 0, 0, np.nan]}, r"s\.npz holds NaN.* in 'mean'"),
        ({"var": [1, 1, 1, np.inf]}, r"s\.npz holds NaN, infinity .* in 'var'"),
        ({"var": [1, 1, 1, -1e-9]}, r"negative variance in 'var'"),
        ({"epsilon": -1.0}, "has epsilon -1.0"),
        ({"epsilon": 0.0, "var": np.zeros(4)}, "so that no variance is 0"),
        ({"epsilon": np.nan}, "has epsilon nan"),
        ({"clip": 0.0}, "and clip 0.0"),
        ({"clip": [1.0, 2.0]}, "cannot be read as VecNormalize statistics"),
        ({"mean": ["a", "b", "c", "d"]}, "values of type <U1: expected numbers"),
        ({"mean": [{}, 0, 0, 0]}, "values of type object: expected numbers"),
        ({"mean": np.zeros(4, complex)}, "values of type complex128: expected numbers"),
    ],
)
def test_npz_with_impossible_statistics_is_refused(
    sb3_model: SB3Model, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    np.savez(tmp_path / "s.npz", **{"mean": np.zeros(4), "var": np.ones(4)} | change)
    with pytest.raises(InputError, match=message):
        load_core(path, "CartPole-v1", normalise=tmp_path / "s.npz")


def test_npz_that_declares_more_than_it_holds_is_refused(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    for shape in ((10**12,), (-4,), (2**70,), (5,)):
        header = io.BytesIO()
        about = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, about)
        with zipfile.ZipFile(tmp_path / "s.npz", "w") as archive:
            for name in ("mean", "var"):
                archive.writestr(f"{name}.npy", header.getvalue() + bytes(32))
        with pytest.raises(InputError, match="32 bytes for an array of shape"):
            load_core(path, "CartPole-v1", normalise=tmp_path / "s.npz")
    for content in (b"", b"hello", pickle.dumps(3)):
        (tmp_path / "s.npz").write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as VecNormalize statistics"):
            load_core(path, "CartPole-v1", normalise=tmp_path / "s.npz")


class State:
    """An object with any state."""

    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"norm_obs": False}, None),
        ({"epsilon": np.float32(1e-6), "clip_obs": np.float64(5)}, None),
        ({"clip_obs": float("inf")}, None),
        ({"obs_rms": State(mean=np.full(4, np.nan), var=np.ones(4))}, "holds NaN.* in 'mean'"),
        ({"obs_rms": State(mean=np.zeros(4), var=-np.ones(4))}, "negative variance in 'var'"),
        ({"obs_rms": State(mean=np.zeros(3), var=np.ones(3))}, r"mean of shape \(3,\)"),
        ({"obs_rms": State(mean="x", var=np.ones(4))}, "other things than arrays of numbers"),
        (
            {"obs_rms": State(mean=np.array(["x"]), var=np.ones(4))},
            "unknown type|<U1|than arrays",
        ),
        ({"obs_rms": {"a": State()}}, "cannot be read as VecNormalize statistics"),
        (
            {"obs_rms": {"a": State(mean=np.zeros(4), var=np.ones(4))}},
            "statistics of the key 'a' of Dict observations, and the env has no such key",
        ),
        ({"obs_rms": None}, "cannot be read as VecNormalize statistics"),
        ({"epsilon": None}, "other things than arrays of numbers"),
        ({"metadata": {(1, 2): 3}}, "other keys than texts and numbers"),
    ],
)
@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_pickles_are_read_as_data(
    sb3_model: SB3Model, tmp_path: Path, protocol: int, change: dict[str, Any], message: str | None
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    rms = State(mean=np.arange(4.0), var=np.full((4,), 4.0), count=3)
    state = {"norm_obs": True, "obs_rms": rms, "epsilon": 1e-8, "clip_obs": 1.5} | change
    pickled = tmp_path / "vecnormalize.pkl"
    pickled.write_bytes(pickle.dumps(State(**state), protocol))
    if message is None:
        load_core(path, "CartPole-v1", normalise=pickled)
        return
    with pytest.raises(InputError, match=message):
        load_core(path, "CartPole-v1", normalise=pickled)
