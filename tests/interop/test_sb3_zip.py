"""Zips of Stable-Baselines3: they are never unpickled without trust, and bad ones are refused."""

import base64
import io
import json
import os
import pickle
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from policy_inertia import InputError, export, load_core
from policy_inertia.policies.probing import example_observations
from tests.support import probes
from tests.support.cores import scores_of
from tests.support.sb3_models import MakeModel, SB3Model, sb3_values


class Poison:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (_write, (str(self.target),))


def _write(target: str) -> None:
    Path(target).write_text("poisoned")


def rewrite(path: Path, to: Path, changes: dict[str, bytes]) -> Path:
    """A copy of a zip with some members replaced or added."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in {*old.namelist(), *changes}:
            new.writestr(name, changes[name] if name in changes else old.read(name))
    return to


def data_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("data"))


def with_data(path: Path, to: Path, data: Any) -> Path:
    """A copy of a zip with other JSON."""
    return rewrite(path, to, {"data": json.dumps(data).encode()})


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
    with pytest.raises(InputError, match="is not known, so it cannot be written as ONNX"):
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


def test_recurrent_models_are_refused(tmp_path: Path) -> None:
    from sb3_contrib import RecurrentPPO

    model = RecurrentPPO("MlpLstmPolicy", "CartPole-v1", n_steps=8, device="cpu")
    model.save(tmp_path / "r.zip")
    for core in (model, tmp_path / "r.zip"):
        with pytest.raises(InputError, match="is recurrent: it carries a state"):
            load_core(core, "CartPole-v1")


def test_masked_and_continuous_models_are_refused(tmp_path: Path) -> None:
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO, SAC

    class Masked(probes.Repeat):
        def action_masks(self) -> list[bool]:
            return [True, True]

    MaskablePPO("MlpPolicy", Masked(), device="cpu").save(tmp_path / "m.zip")
    with pytest.raises(InputError, match="masked actions"):
        load_core(tmp_path / "m.zip", probes.Repeat)
    PPO("MlpPolicy", "Pendulum-v1", device="cpu").save(tmp_path / "p.zip")
    SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10).save(tmp_path / "s.zip")
    for name in ("p.zip", "s.zip"):
        with pytest.raises(InputError, match="continuous actions"):
            load_core(tmp_path / name, "CartPole-v1")
    with pytest.raises(InputError, match="needs Discrete actions"):
        load_core(tmp_path / "p.zip", "Pendulum-v1")


class Shape(gym.Env):
    """An env of any size; only its spaces are read."""

    def __init__(self, size: int, actions: int) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (size,), np.float32)
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


# --- numbers, sizes and damage ------------------------------------------------------------------

UNUSED = ("q_net_target", "quantile_net_target", "value_net", "mlp_extractor.value_net")
"""Weights that acting does not need."""


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(io.BytesIO(zipfile.ZipFile(path).read("policy.pth")), weights_only=True)


def with_weights(path: Path, to: Path, weights: Any) -> Path:
    """A copy of a zip with other weights."""
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    return rewrite(path, to, {"policy.pth": buffer.getvalue()})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(
    sb3_model: SB3Model, tmp_path: Path, value: float
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    weights = weights_of(path)
    weights["q_net.q_net.2.weight"][3, 4] = value
    bad = with_weights(path, tmp_path / "bad.zip", weights)
    message = r"bad\.zip holds NaN or infinity in 'q_net\.q_net\.2\.weight': its training diverged"
    with pytest.raises(InputError, match=message):
        load_core(bad, "CartPole-v1")


@pytest.mark.parametrize("algorithm", ["DQN", "QRDQN", "PPO"])
@pytest.mark.parametrize("part", ["weight", "bias"])
@pytest.mark.parametrize("shape", [(), (3,), (65,), (2, 3), (1, 1, 1), (0, 0), (0,)])
def test_weights_of_odd_shapes_or_types_are_refused(
    sb3_model: SB3Model, tmp_path: Path, algorithm: str, part: str, shape: tuple[int, ...]
) -> None:
    _, path = sb3_model(algorithm, "CartPole-v1")
    weights = weights_of(path)
    names = [key for key in weights if key.endswith(part) and not key.startswith(UNUSED)]
    for name in (names[0], names[-1]):
        changed = weights | {name: torch.zeros(shape)}
        with pytest.raises(InputError):
            load_core(with_weights(path, tmp_path / "bad.zip", changed), "CartPole-v1")
        changed = weights | {name: weights[name].to(torch.int64)}
        with pytest.raises(InputError, match="has weights of type int64"):
            load_core(with_weights(path, tmp_path / "bad.zip", changed), "CartPole-v1")


@pytest.mark.parametrize("key", [3, ("a", "b"), None, b"x"])
def test_weights_whose_names_are_no_texts_are_refused(
    sb3_model: SB3Model, tmp_path: Path, key: Any
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    bad = with_weights(path, tmp_path / "bad.zip", weights_of(path) | {key: torch.zeros(3)})
    with pytest.raises(InputError, match="cannot be read as the weights of a policy"):
        load_core(bad, "CartPole-v1")


def test_one_number_that_stands_for_gigabytes_is_refused(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    weights = weights_of(path) | {"q_net.q_net.0.weight": torch.zeros(1).expand(10**9, 4)}
    bad = with_weights(path, tmp_path / "bad.zip", weights)
    with pytest.raises(InputError, match=r"a tensor of shape \(1000000000, 4\) in a storage of 1 "):
        load_core(bad, "CartPole-v1")


def test_member_that_inflates_to_gigabytes_is_not_inflated(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    for name in ("data", "policy.pth"):
        bomb = rewrite(path, tmp_path / "bomb.zip", {})
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(bomb, "w") as new:
            for other in {"data", "policy.pth"} - {name}:
                new.writestr(other, old.read(other))
            with new.open(zipfile.ZipInfo(name), "w") as file:
                file._compressor = zlib.compressobj(9, zlib.DEFLATED, -15)  # type: ignore[attr-defined]
                file._zinfo.compress_type = zipfile.ZIP_DEFLATED  # type: ignore[attr-defined]
                for _ in range(300):
                    file.write(bytes(2**20))
        assert bomb.stat().st_size < 2**20
        with pytest.raises(InputError, match=rf"{name} has 314,572,800 bytes, of which [\d,]+ are"):
            load_core(bomb, "CartPole-v1")


def test_unusual_members_are_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        offset = archive.start_dir  # the first entry of the directory: `data`
    encrypted, method = bytearray(data), bytearray(data)
    encrypted[offset + 8] |= 1
    method[offset + 10] = 14
    for changed, message in ((encrypted, "data is encrypted"), (method, "by method 14")):
        (tmp_path / "odd.zip").write_bytes(changed)
        with pytest.raises(InputError, match=message):
            load_core(tmp_path / "odd.zip", "CartPole-v1")


def test_deflated_zip_is_read_and_a_damaged_stream_is_refused(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    model, path = sb3_model("DQN", "CartPole-v1")
    deflated = tmp_path / "deflated.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(deflated, "w", 8) as new:
        for name in ("policy.pth", "data"):
            new.writestr(name, old.read(name))
    core = load_core(deflated, "CartPole-v1")
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-5)
    damaged = bytearray(deflated.read_bytes())
    damaged[60:100] = bytes(40)
    deflated.write_bytes(damaged)
    with pytest.raises(InputError, match="cannot be read as a zip of Stable-Baselines3"):
        load_core(deflated, "CartPole-v1")


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"\xff\xfe", b'{"policy_class": ' + b"9" * 5_000 + b"}", b""]
)
def test_data_that_is_no_json_is_refused(sb3_model: SB3Model, tmp_path: Path, data: bytes) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    bad = rewrite(path, tmp_path / "bad.zip", {"data": data})
    with pytest.raises(InputError, match="cannot be read as a zip of Stable-Baselines3"):
        load_core(bad, "CartPole-v1")


@pytest.mark.parametrize("key", ["policy_class", "policy_kwargs"])
@pytest.mark.parametrize("value", [None, 3, "x", [], [1], {"a": 1}, {"__module__": 3}])
def test_mistyped_data_is_refused(
    sb3_model: SB3Model, tmp_path: Path, key: str, value: Any
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    bad = with_data(path, tmp_path / "bad.zip", data_of(path) | {key: value})
    if key == "policy_kwargs" and not value:
        load_core(bad, "CartPole-v1")  # no arguments
    else:
        with pytest.raises(InputError, match="cannot be rebuilt from its shapes alone"):
            load_core(bad, "CartPole-v1")


def test_pipe_in_place_of_a_zip_is_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    os.mkfifo(tmp_path / "pipe.pkl")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match=r"pipe\.zip is a named pipe"):
        load_core(tmp_path / "pipe.zip", "CartPole-v1")
    _, path = sb3_model("DQN", "CartPole-v1")
    for name in ("pipe.pkl", "pipe.npz"):
        with pytest.raises(InputError, match=f"{name} is a named pipe"):
            load_core(path, "CartPole-v1", normalise=tmp_path / name)
    with pytest.raises(InputError, match=r"cannot be opened \(File name too long"):
        load_core("x" * 5_000, "CartPole-v1")


def test_trusted_zip_that_cannot_be_built_is_refused(sb3_model: SB3Model, tmp_path: Path) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    data = data_of(path) | {"policy_kwargs": {"magic": 3}}
    bad = with_data(path, tmp_path / "bad.zip", data)
    with pytest.raises(InputError, match="cannot be read as a model of the installed Stable"):
        load_core(bad, "CartPole-v1", trust=True)
