import shutil
from pathlib import Path

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.interop.any_policy import load_any, zoo_env
from tests.support.policies import fresh
from tests.support.sb3_models import SB3Model


def test_our_policies_are_loaded_as_they_are(tmp_path: Path) -> None:
    fresh("nsac").save(tmp_path / "policy.safetensors")
    for path in (tmp_path, tmp_path / "policy.safetensors"):
        assert load_any(path).method == "nsac"


def test_policy_of_others_acts_as_its_core(sb3_model: SB3Model) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    policy = load_any(path, "CartPole-v1", {"max_episode_steps": 7})
    assert (policy.task, policy.env_kwargs) == ("CartPole-v1", {"max_episode_steps": 7})
    obs = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    core = pi.load_core(path, "CartPole-v1")
    np.testing.assert_allclose(policy.probabilities(obs), core.probabilities(obs), atol=1e-6)


def test_folder_of_rl_zoo_names_its_env_if_that_is_registered(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    for name in ("CartPole-v1_12", "os:system_1", "Unknown-v1_1", "CartPole-v1"):
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name / "best_model.zip")
    assert zoo_env(tmp_path / "CartPole-v1_12") == "CartPole-v1"
    assert load_any(tmp_path / "CartPole-v1_12").task == "CartPole-v1"
    for name in ("os:system_1", "Unknown-v1_1", "CartPole-v1", "missing_1"):
        assert zoo_env(tmp_path / name) is None
    with pytest.raises(pi.InputError, match="does not name its environment: add --env"):
        load_any(tmp_path / "Unknown-v1_1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "there is no file"),
        ("nowhere.zip", "there is no file"),
        ("nowhere.onnx", "there is no file"),
        ("nowhere.safetensors", "there is no file"),
        ("a.txt", r"ends in '\.txt': expected a Stable-Baselines3"),
        ("empty", "holds no policy"),
    ],
)
def test_what_is_no_policy_is_refused_in_one_sentence(
    name: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(pi.InputError, match=message):
        load_any(tmp_path / name)
