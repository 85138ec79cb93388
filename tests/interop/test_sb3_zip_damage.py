"""Zips of Stable-Baselines3 that are damaged or hostile are refused in one sentence."""

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from policy_inertia import InputError, load_core
from policy_inertia.policies.probing import example_observations
from tests.support.cores import scores_of
from tests.support.sb3_models import SB3Model, sb3_values
from tests.support.sb3_zips import data_of, rewrite, weights_of, with_data, with_weights

UNUSED = ("q_net_target", "quantile_net_target", "value_net", "mlp_extractor.value_net")
"""Weights that acting does not need."""


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
