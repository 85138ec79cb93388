"""Models of Stable-Baselines3 with continuous actions: live, and as zips without running code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import DQN, SAC

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.policies.action_filters.exponential import Exponential
from tests.support.chase import Chase
from tests.support.sb3_box_models import MODELS, REPLAY, Lopsided, trained

OBS = np.random.default_rng(0).uniform(-3, 3, (50, 2)).astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_live_models_and_zips_give_the_actions_of_sb3(name: str, tmp_path: Path) -> None:
    model = trained(name)
    theirs = model.predict(OBS, deterministic=True)[0]
    model.save(tmp_path / "model.zip")
    for core in (load_core(model), load_core(tmp_path / "model.zip", Lopsided)):
        assert core.layers is not None
        np.testing.assert_allclose(core.predict(OBS)[0], theirs, atol=1e-5)
        np.testing.assert_allclose(core.predict(OBS[0])[0], theirs[0], atol=1e-5)


def test_core_of_a_zip_is_evaluated_and_filtered(tmp_path: Path) -> None:
    trained("sac").save(tmp_path / "model.zip")
    core = load_core(tmp_path / "model.zip", Lopsided)
    figures = evaluate(core, Lopsided, 2).summary()
    theirs = evaluate(trained("sac"), Lopsided, 2, deterministic=True).summary()
    assert figures["return"] == pytest.approx(theirs["return"], rel=1e-4)
    smooth = evaluate(core.with_filter(Exponential(0.2)), Lopsided, 2).summary()
    assert smooth["action_fluctuation"] < figures["action_fluctuation"]


def test_network_that_is_not_standard_is_called_as_it_is(tmp_path: Path) -> None:
    kwargs: dict[str, Any] = {"net_arch": [8], "clip_mean": 0.1}
    model = SAC("MlpPolicy", Chase(), device="cpu", use_sde=True, policy_kwargs=kwargs, **REPLAY)
    core = load_core(model)
    np.testing.assert_allclose(core.predict(OBS)[0], model.predict(OBS, deterministic=True)[0])
    model.save(tmp_path / "model.zip")
    with pytest.raises(InputError, match="its policy has the argument clip_mean: give trust=True"):
        load_core(tmp_path / "model.zip", Chase)
    trusted = load_core(tmp_path / "model.zip", Chase, trust=True)
    np.testing.assert_allclose(trusted.predict(OBS)[0], core.predict(OBS)[0])


def test_bounds_that_differ_between_training_and_use_are_refused(tmp_path: Path) -> None:
    says = "was trained with the lower bound 0.5 for number 1 of the actions, and the env has -2"
    trained("sac").save(tmp_path / "model.zip")
    for source in (trained("sac"), tmp_path / "model.zip"):
        with pytest.raises(InputError, match=says):
            load_core(source, Chase)


def test_models_of_other_spaces_are_refused(tmp_path: Path) -> None:
    trained("td3").save(tmp_path / "model.zip")
    with pytest.raises(InputError, match="gives actions of 2 numbers and the env has a Box of sha"):
        load_core(tmp_path / "model.zip", "Pendulum-v1")
    DQN("MlpPolicy", "CartPole-v1", device="cpu", buffer_size=10).save(tmp_path / "dqn.zip")
    with pytest.raises(InputError, match="has Discrete actions and the env has continuous ones"):
        load_core(tmp_path / "dqn.zip", "Pendulum-v1")
