"""Zips of Stable-Baselines3: they are never unpickled without trust, and bad ones are refused."""

import base64
import io
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from policy_inertia import InputError, export, load_core
from policy_inertia.policies.probing import example_observations
from tests.support.cores import scores_of
from tests.support.sb3_models import MakeModel, SB3Model, sb3_values
from tests.support.sb3_zips import data_of, rewrite, with_data


class Poison:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (_write, (str(self.target),))


def _write(target: str) -> None:
    Path(target).write_text("poisoned")


# --- safety -------------------------------------------------------------------------------------


def test_pickles_in_the_data_are_never_loaded(sb3_model: SB3Model, tmp_path: Path) -> None:
    from stable_baselines3.common.save_util import load_from_zip_file

    model, path = sb3_model("DQN", "CartPole-v1")
    target = tmp_path / "written"
    data = data_of(path)
    poison = base64.b64encode(pickle.dumps(Poison(target))).decode()
    pickled = [key for key, value in data.items() if ":serialized:" in str(value)]
    for key in pickled:
        data[key][":serialized:"] = poison
    bad = with_data(path, tmp_path / "bad.zip", data)
    core = load_core(bad, "CartPole-v1")
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-5)
    assert len(pickled) > 3
    assert not target.exists()
    load_from_zip_file(bad)  # the poison is real: Stable-Baselines3's own loader runs it
    assert target.exists()


def test_weights_that_are_pickled_objects_are_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    target = tmp_path / "written"
    buffer = io.BytesIO()
    torch.save({"q_net.q_net.0.weight": Poison(target)}, buffer)
    for name, weights in (("torch", buffer.getvalue()), ("raw", pickle.dumps(Poison(target)))):
        bad = rewrite(path, tmp_path / f"{name}.zip", {"policy.pth": weights})
        with pytest.raises(InputError, match="holds more than weights and was not loaded"):
            load_core(bad, "CartPole-v1")
    others = rewrite(
        path,
        tmp_path / "others.zip",
        {name: buffer.getvalue() for name in ("pytorch_variables.pth", "policy.optimizer.pth")},
    )
    load_core(others, "CartPole-v1")  # these members are not opened
    assert not target.exists()
    torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)
    assert target.exists()


def test_pickled_statistics_never_run_code(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    target = tmp_path / "written"
    pickled = tmp_path / "vecnormalize.pkl"
    pickled.write_bytes(pickle.dumps(Poison(target)))
    zoo = tmp_path / "CartPole-v1_1"
    (zoo / "CartPole-v1").mkdir(parents=True)
    shutil.copy(path, zoo / "CartPole-v1.zip")
    shutil.copy(pickled, zoo / "CartPole-v1")
    for trust in (False, True):
        with pytest.raises(InputError, match="no pickle of a VecNormalize"):
            load_core(path, "CartPole-v1", normalise=pickled, trust=trust)
        with pytest.raises(InputError, match="no pickle of a VecNormalize"):
            load_core(zoo, "CartPole-v1", trust=trust)
    assert not target.exists()
    pickle.loads(pickled.read_bytes())
    assert target.exists()


# --- facts that the weights do not give ---------------------------------------------------------


def test_activation_is_read_from_the_readable_part(make_model: MakeModel, tmp_path: Path) -> None:
    model = make_model(
        "PPO", "CartPole-v1", policy_kwargs={"activation_fn": torch.nn.ELU, "net_arch": [32]}
    )
    model.save(tmp_path / "elu.zip")
    core = load_core(tmp_path / "elu", "CartPole-v1")  # without .zip, as for SB3's own load
    obs = example_observations(core.space, 500)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-5)
    assert export(core, tmp_path / "elu.onnx").difference < 1e-5


def test_unknown_activation_needs_trust(make_model: MakeModel, tmp_path: Path) -> None:
    model = make_model("DQN", "CartPole-v1", policy_kwargs={"activation_fn": torch.nn.Mish})
    path = tmp_path / "mish.zip"
    model.save(path)
    with pytest.raises(InputError, match=r"its activation is Mish: give trust=True"):
        load_core(path, "CartPole-v1")
    core = load_core(path, "CartPole-v1", trust=True)
    assert core.layers is None
    obs = example_observations(core.space, 500)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-6)
    with pytest.raises(InputError, match="is not known, so it cannot be exported"):
        export(core, tmp_path / "mish.onnx")


def test_trusted_zip_with_a_standard_network_is_layers_again(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    model, path = sb3_model("A2C", "CartPole-v1")
    data = data_of(path)
    data["policy_class"]["__module__"] = "somebody.policies"
    own = with_data(path, tmp_path / "own.zip", data)
    with pytest.raises(InputError, match=r"class of somebody\.policies: give trust=True"):
        load_core(own, "CartPole-v1")
    core = load_core(own, "CartPole-v1", trust=True)
    assert core.layers is not None
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features_extractor_class": "<class 'own.Net'>"}, r"its network uses <class 'own\.Net'>"),
        ({"magic": 3}, "has the argument magic"),
        ({":serialized:": "abc"}, "arguments of its policy are pickled"),
        ({"activation_fn": "functools.partial(<class 'ELU'>, 2)"}, r"its network uses functools"),
    ],
)
def test_unknown_arguments_of_a_policy_need_trust(
    sb3_model: SB3Model, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    bad = with_data(path, tmp_path / "bad.zip", data_of(path) | {"policy_kwargs": arguments})
    with pytest.raises(InputError, match=message):
        load_core(bad, "CartPole-v1")


# --- folders and bad files ----------------------------------------------------------------------


def test_best_model_of_a_folder_comes_first(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    folder = tmp_path / "CartPole-v1_3"
    folder.mkdir()
    shutil.copy(sb3_model("PPO", "CartPole-v1")[1], folder / "best_model.zip")
    shutil.copy(path, folder / "CartPole-v1.zip")
    assert load_core(folder, "CartPole-v1").kind == "logits"
    (folder / "best_model.zip").unlink()
    assert load_core(folder, "CartPole-v1").kind == "q"
    (folder / "CartPole-v1.zip").unlink()
    with pytest.raises(InputError, match="holds no policy"):
        load_core(folder, "CartPole-v1")


def test_recurrent_models_with_continuous_actions_are_refused(tmp_path: Path) -> None:
    from sb3_contrib import RecurrentPPO

    model = RecurrentPPO("MlpLstmPolicy", "Pendulum-v1", n_steps=8, device="cpu")
    model.save(tmp_path / "r.zip")
    for core in (model, tmp_path / "r.zip"):
        with pytest.raises(InputError, match="is recurrent and has continuous actions"):
            load_core(core, "Pendulum-v1")


def test_continuous_models_are_refused(tmp_path: Path) -> None:
    from stable_baselines3 import PPO, SAC

    PPO("MlpPolicy", "Pendulum-v1", device="cpu").save(tmp_path / "p.zip")
    SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10).save(tmp_path / "s.zip")
    for name in ("p.zip", "s.zip"):
        with pytest.raises(InputError, match="continuous actions"):
            load_core(tmp_path / name, "CartPole-v1")


class Shape(gym.Env):
    """An env of any size; only its spaces are read."""

    def __init__(self, size: int, actions: int) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gym.spaces.Discrete(actions)


@pytest.mark.parametrize("algorithm", ["DQN", "PPO", "QRDQN"])
def test_envs_with_other_spaces_are_refused(sb3_model: SB3Model, algorithm: str) -> None:
    _, path = sb3_model(algorithm, "CartPole-v1")
    with pytest.raises(InputError, match=r"action spaces differ|does not take observations"):
        load_core(path, "Acrobot-v1")
    with pytest.raises(InputError, match=r"does not take observations of shape \(2,\)"):
        load_core(path, lambda: Shape(2, 2))
    with pytest.raises(InputError, match=r"among 2 actions|do not divide"):
        load_core(path, lambda: Shape(4, 3))


def test_files_that_are_no_zip_of_stable_baselines_are_refused(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"read as a zip of Stable-Baselines3 \(File is not a zip"):
        load_core(broken, "CartPole-v1")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match="not one of Stable-Baselines3"):
        load_core(tmp_path / "other.zip", "CartPole-v1")
    with pytest.raises(InputError, match=r"holds .* which is a JSON object"):
        load_core(with_data(path, tmp_path / "empty.zip", []), "CartPole-v1")
    with pytest.raises(InputError, match=r"env of DQN-CartPole-v1\.zip is not known"):
        load_core(path)


def test_zip_with_missing_weights_is_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    state = torch.load(io.BytesIO(zipfile.ZipFile(path).read("policy.pth")), weights_only=True)
    del state["action_net.bias"]
    buffer = io.BytesIO()
    torch.save(state, buffer)
    less = rewrite(path, tmp_path / "less.zip", {"policy.pth": buffer.getvalue()})
    with pytest.raises(InputError, match=r"no weights named action_net\.bias"):
        load_core(less, "CartPole-v1")
