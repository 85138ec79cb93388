"""Models that were trained inside a VecNormalize, without its statistics."""

import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import load_core
from tests.support.poison import Poison
from tests.support.sb3_models import SB3Model
from tests.support.sb3_zips import data_of, with_data


@pytest.fixture(scope="module")
def normalised(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    """Zips of short trainings by algorithm and whether observations were normalised."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    folder = tmp_path_factory.mktemp("normalised")
    settings: dict[str, dict[str, Any]] = {
        "DQN": {"learning_starts": 50, "buffer_size": 100},
        "PPO": {"n_steps": 8, "batch_size": 32, "n_epochs": 1},
    }
    zips = {}
    for name, given in settings.items():
        for inside in (False, True):
            env: Any = make_vec_env("CartPole-v1", 8, seed=0)
            env = VecNormalize(env) if inside else env
            model = getattr(sb3, name)("MlpPolicy", env, device="cpu", seed=0, **given)
            zips[name, inside] = folder / f"{name}-{inside}" / "model.zip"
            zips[name, inside].parent.mkdir()
            model.learn(96).save(zips[name, inside])
            if inside:
                env.save(folder / f"{name}.pkl")
    return zips


def warnings_of(core: Any, env: Any = "CartPole-v1", **options: Any) -> list[str]:
    messages: list[str] = []
    load_core(core, env, warn=messages.append, **options)
    return messages


@pytest.mark.parametrize("name", ["DQN", "PPO"])
def test_zip_that_shows_normalised_observations_is_warned_of(
    name: str, normalised: dict[tuple[str, bool], Path]
) -> None:
    assert warnings_of(normalised[name, False]) == []
    (warning,) = warnings_of(normalised[name, True])
    assert "was trained inside a VecNormalize, and a zip does not hold its statistics" in warning
    assert "--normalise FILE (in Python normalise=...)" in warning
    assert warnings_of(normalised[name, True], normalise=False) == []
    assert warnings_of(normalised[name, True], normalise=(np.zeros(4), np.ones(4))) == []
    with pytest.warns(UserWarning, match="was trained inside a VecNormalize"):
        load_core(normalised[name, True], "CartPole-v1")


@pytest.mark.parametrize("name", ["DQN", "PPO"])
def test_live_model_that_was_loaded_without_its_statistics_is_warned_of(
    name: str, normalised: dict[tuple[str, bool], Path]
) -> None:
    import stable_baselines3 as sb3
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    load = getattr(sb3, name).load
    plain, model = (load(normalised[name, inside], device="cpu") for inside in (False, True))
    assert warnings_of(plain) == []
    (warning,) = warnings_of(model)
    assert warning.startswith(f"{name} was trained inside a VecNormalize")
    assert "give them as normalise=..." in warning
    assert warnings_of(model, env=None) == [warning]
    assert warnings_of(model, normalise=False) == []
    file = normalised[name, True].parent.parent / f"{name}.pkl"
    assert warnings_of(model, normalise=file) == []
    env = VecNormalize.load(str(file), make_vec_env("CartPole-v1", 8))
    assert warnings_of(model, env) == []
    assert warnings_of(load(normalised[name, True], env, device="cpu")) == []


@pytest.mark.parametrize("file", ["vecnormalize.pkl", "vec_normalize.pkl", "my_VecNormalise_2.pkl"])
@pytest.mark.parametrize("place", [".", "model"])
def test_statistics_beside_a_zip_are_named(
    file: str, place: str, normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    shutil.copy(normalised["DQN", False], tmp_path / "model.zip")
    (tmp_path / place).mkdir(exist_ok=True)
    statistics = tmp_path / place / file
    shutil.copy(normalised["DQN", True].parent.parent / "DQN.pkl", statistics)
    (warning,) = warnings_of(tmp_path / "model.zip")
    assert warning.startswith(f"{statistics} lies beside model.zip")
    assert f"add --normalise {statistics}" in warning
    assert warnings_of(tmp_path / "model.zip", normalise=statistics) == []


def test_statistics_of_other_observations_are_not_named(
    sb3_model: SB3Model, normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "Acrobot-v1")
    shutil.copy(path, tmp_path / "model.zip")
    shutil.copy(normalised["DQN", True].parent.parent / "DQN.pkl", tmp_path / "vecnormalize.pkl")
    assert warnings_of(tmp_path / "model.zip", "Acrobot-v1") == []  # they are CartPole's
    (tmp_path / "vecnormalize.pkl").write_bytes(b"damaged")
    assert warnings_of(tmp_path / "model.zip", "Acrobot-v1") == []


def test_folder_applies_the_statistics_in_it(
    normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    shutil.copy(normalised["PPO", True], tmp_path / "best_model.zip")
    shutil.copy(normalised["PPO", True].parent.parent / "PPO.pkl", tmp_path / "vec_normalize.pkl")
    assert warnings_of(tmp_path) == []
    obs = np.full((1, 4), 0.1, np.float32)
    applied = load_core(tmp_path, "CartPole-v1")
    given = load_core(
        normalised["PPO", True], "CartPole-v1", normalise=tmp_path / "vec_normalize.pkl"
    )
    np.testing.assert_array_equal(applied.probabilities(obs), given.probabilities(obs))


@pytest.mark.parametrize(
    "last", [None, 3, {}, {":serialized:": 3}, {":serialized:": "!"}, {":serialized:": "gASVAAAA"}]
)
def test_damaged_observation_in_a_zip_is_no_warning(
    last: Any, normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    data = data_of(normalised["DQN", True]) | {"_last_obs": last}
    bad = with_data(normalised["DQN", True], tmp_path / "bad.zip", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_core(bad, gym.make("CartPole-v1"))


@pytest.mark.parametrize("name", ["DQN", "PPO"])
def test_zip_that_needs_the_statistics_beside_it_uses_them(
    name: str, normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    zipped, statistics = tmp_path / "CartPole-v1.zip", tmp_path / "CartPole-v1" / "vecnormalize.pkl"
    statistics.parent.mkdir()
    shutil.copy(normalised[name, True], zipped)
    shutil.copy(normalised[name, True].parent.parent / f"{name}.pkl", statistics)
    (warning,) = warnings_of(zipped)
    assert warning.startswith(f"{statistics} lies beside CartPole-v1.zip")
    assert "is used" in warning
    obs = np.random.default_rng(0).normal(0, 1, (100, 4)).astype(np.float32)
    used = load_core(zipped, "CartPole-v1", warn=lambda _: None)
    given = load_core(zipped, "CartPole-v1", normalise=statistics)
    np.testing.assert_array_equal(used.acting(obs).scores, given.acting(obs).scores)
    without = load_core(zipped, "CartPole-v1", normalise=False)
    assert abs(without.acting(obs).scores - given.acting(obs).scores).max() > 1e-3


class Plain:
    """An object with any state."""

    poison: Any


def test_poisoned_statistics_run_nothing(
    normalised: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Poison(trace)))
    assert trace.exists()  # it does run code
    trace.unlink()
    shutil.copy(normalised["PPO", True], tmp_path / "model.zip")
    file = tmp_path / "vecnormalize.pkl"
    with (normalised["PPO", True].parent.parent / "PPO.pkl").open("rb") as stream:
        saved = pickle.load(stream)
    statistics = Plain()
    for name in ("norm_obs", "obs_rms", "epsilon", "clip_obs"):
        setattr(statistics, name, getattr(saved, name))
    statistics.poison = Poison(trace)
    for content in (Poison(trace), statistics):
        file.write_bytes(pickle.dumps(content))
        warnings_of(tmp_path / "model.zip")
        if content is statistics:  # the numbers in it are still read
            load_core(tmp_path / "model.zip", "CartPole-v1", normalise=file)
    assert not trace.exists()
