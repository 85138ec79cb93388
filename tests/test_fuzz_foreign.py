"""Damaged files of other programs: each is read, or refused in one sentence.

As in `test_fuzz`, nothing else may happen. `make test-fuzz` runs many more cases of both.
"""

from __future__ import annotations

import io
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnx
import pytest

from policy_inertia import load_core, measure
from policy_inertia.interop.onnx_file import OPERATORS
from policy_inertia.policies.probing import example_observations
from tests.support.foreign_mutations import (
    Mutation,
    members,
    mutate_model,
    mutate_pickle,
    mutate_zip,
    zipped,
)
from tests.support.mutations import Generator, check_cases, mutate_bytes, mutate_json
from tests.support.onnx_models import constant, model_of
from tests.support.sb3_models import Pictures

SHORT, LONG = 150, 20_000
LONG_RUN = pytest.param(LONG, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)])
CASES = pytest.mark.parametrize("cases", [SHORT, LONG_RUN])
CARTPOLE, PENDULUM = gym.make("CartPole-v1"), gym.make("Pendulum-v1")


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """The libraries that read the files warn of what they read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_core(
    path: Path,
    damage: Callable[[Generator], bytes],
    cases: int,
    env: Any = CARTPOLE,
    **options: Any,
) -> None:
    """Read damaged versions of a file as a core, and act with it."""

    def one_case(rng: Generator) -> None:
        path.write_bytes(damage(rng))
        core = load_core(path, env, **options)
        for n in (1, 5):
            obs = example_observations(core.space, n)
            getattr(core, "acting", core.output)(obs)
            core.predict(obs, deterministic=True)

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 4


# Stable-Baselines3 -------------------------------------------------------------------------------


def model_zip(algorithm: str, env: Any, policy: str, **arguments: Any) -> bytes:
    """A zip of a model that was never trained."""
    import sb3_contrib
    import stable_baselines3

    cls = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    buffer = io.BytesIO()
    cls(policy, env, policy_kwargs=arguments, device="cpu", seed=0).save(buffer)
    kept = ("data", "policy.pth")
    return zipped({name: data for name, data in members(buffer.getvalue()).items() if name in kept})


ZIPS: dict[str, Callable[[], tuple[Any, bytes]]] = {
    "DQN": lambda: (CARTPOLE, model_zip("DQN", CARTPOLE, "MlpPolicy", net_arch=[8])),
    "QRDQN": lambda: (
        CARTPOLE,
        model_zip("QRDQN", CARTPOLE, "MlpPolicy", net_arch=[8], n_quantiles=4),
    ),
    "PPO": lambda: (CARTPOLE, model_zip("PPO", CARTPOLE, "MlpPolicy", net_arch=[8])),
    "A2C of pictures": lambda: (
        Pictures(),
        model_zip("A2C", Pictures(), "CnnPolicy", features_extractor_kwargs={"features_dim": 16}),
    ),
    "SAC": lambda: (PENDULUM, model_zip("SAC", PENDULUM, "MlpPolicy", net_arch=[8])),
    "continuous PPO": lambda: (PENDULUM, model_zip("PPO", PENDULUM, "MlpPolicy", net_arch=[8])),
}


def mutate_settings(data: bytes, rng: Generator) -> bytes:
    """Damage the JSON of a model, mostly in the few keys that are read."""
    tree = json.loads(data)
    if rng.random() < 0.8:
        tree = {key: tree[key] for key in ("policy_class", "policy_kwargs", "action_space")}
        activation = {"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>"}
        tree["policy_kwargs"] = {**tree["policy_kwargs"], **activation}
    return mutate_json(tree, rng).encode(errors="surrogatepass")


def mutate_weights(data: bytes, rng: Generator) -> bytes:
    """Damage the weights, which are a zip with a pickle in it."""
    return mutate_zip(data, rng, {"data.pkl": mutate_pickle})


MEMBERS: dict[str, Mutation] = {"policy.pth": mutate_weights, "data": mutate_settings}


@CASES
@pytest.mark.parametrize("name", ZIPS)
def test_damaged_zips_are_refused_in_one_sentence(name: str, cases: int, tmp_path: Path) -> None:
    env, data = ZIPS[name]()
    cases = cases // 10 if isinstance(env, Pictures) else cases  # pictures are slow
    check_core(tmp_path / "m.zip", lambda rng: mutate_zip(data, rng, MEMBERS), cases, env)


class Plain:
    """Stands for VecNormalize and its statistics in a pickle."""

    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)


@CASES
@pytest.mark.parametrize("suffix", ["npz", "pkl"])
def test_damaged_statistics_are_refused_in_one_sentence(
    suffix: str, cases: int, tmp_path: Path
) -> None:
    path, arrays = tmp_path / f"s.{suffix}", {"mean": np.arange(4.0), "var": np.ones(4)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, mean=arrays["mean"], var=arrays["var"], epsilon=1e-6, clip=5.0)
    normaliser = Plain(obs_rms=Plain(**arrays), norm_obs=True, epsilon=1e-8, clip_obs=np.float32(9))
    pickles = [pickle.dumps(normaliser, protocol) for protocol in (3, 4, 5)]

    def one_case(rng: Generator) -> None:
        if suffix == "npz":
            path.write_bytes(mutate_zip(buffer.getvalue(), rng, {".npy": mutate_bytes}))
        else:
            path.write_bytes(mutate_pickle(pickles[int(rng.integers(3))], rng))
        core = load_core(lambda obs: obs[:, :2], CARTPOLE, output="q", normalise=path)
        core.acting(np.ones((3, 4), np.float32))

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 4


# Logs of actions ---------------------------------------------------------------------------------


def saved(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


LOGS: dict[str, list[bytes]] = {
    ".csv": [
        b"episode,action,reward\n" + b"0,left,1.5\n0,right,2\n1,left,nan\n" * 5,
        b"0,1,2\n1.0,1,\n2,,\n",
        b'"a";"b"\n"b";"b"\n',
    ],
    ".jsonl": [b"[0, 1, 2]\n[1]\n", b'{"episode": 0, "action": "x"}\n' * 5, b"0\n1\n0\n"],
    ".npy": [
        saved(np.arange(6).reshape(2, 3)),
        saved(np.array([[0.0, 1.0], [1.0, np.nan]])),
        saved(np.array(["left", "right"])),
        saved(np.array([[0.5, 1.0], [1.0, np.nan], [0.25, 3.0]])),
        saved(np.array([0.5, 1.0, -2.25, 0.0])),
        saved(np.arange(12).reshape(2, 2, 3) / 10),
    ],
}


@CASES
@pytest.mark.parametrize("suffix", LOGS)
def test_damaged_logs_are_refused_in_one_sentence(suffix: str, cases: int, tmp_path: Path) -> None:
    path = tmp_path / f"log{suffix}"

    def one_case(rng: Generator) -> None:
        path.write_bytes(mutate_bytes(LOGS[suffix][int(rng.integers(len(LOGS[suffix])))], rng))
        measured = measure(path, step_time=0.1)
        json.dumps(measured.summary())
        str(measured)

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 10


# ONNX --------------------------------------------------------------------------------------------

NODE = onnx.helper.make_node


def perceptron() -> onnx.ModelProto:
    return model_of(
        [
            NODE("Flatten", ["obs"], ["f"]),
            NODE("MatMul", ["f", "a"], ["h0"]),
            NODE("Relu", ["h0"], ["h"]),
            NODE("Gemm", ["h", "b", "c"], ["q"]),
        ],
        [constant("a", np.ones((4, 6))), constant("b", np.ones((6, 2))), constant("c", [0.5, 1])],
    )


def convolution() -> onnx.ModelProto:
    """A graph that computes shapes, and has attributes by which one may divide."""
    return model_of(
        [
            NODE("Shape", ["obs"], ["s"]),
            NODE("Gather", ["s", "zero"], ["n"]),
            NODE("Concat", ["n", "rest"], ["shape"], axis=0),
            NODE("Reshape", ["obs", "shape"], ["p"]),
            NODE("Pad", ["p", "pads"], ["p1"]),
            NODE("Conv", ["p1", "k"], ["c"], strides=[1, 1], pads=[1, 1, 1, 1], group=1),
            NODE("MaxPool", ["c"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
            NODE("ReduceMean", ["m"], ["r"], axes=[2, 3], keepdims=0),
            NODE("Slice", ["r", "zero", "two", "one"], ["q0"]),
            NODE("Cast", ["q0"], ["i"], to=7),
            NODE("Div", ["i", "two"], ["j"]),
            NODE("Cast", ["j"], ["j1"], to=1),
            NODE("Softmax", ["q0"], ["q1"], axis=1),
            NODE("Add", ["q1", "j1"], ["q"]),
        ],
        [
            *[constant(n, [v], np.int64) for n, v in (("zero", 0), ("one", 1), ("two", 2))],
            constant("rest", [1, 2, 2], np.int64),
            constant("pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64),
            constant("k", np.ones((2, 1, 2, 2))),
        ],
    )


def chain() -> onnx.ModelProto:
    """A network with continuous actions that is read as layers."""
    return model_of(
        [
            NODE("Sub", ["obs", "mean"], ["o0"]),
            NODE("Div", ["o0", "std"], ["o1"]),
            NODE("Gemm", ["o1", "a", "c"], ["h0"], transB=1),
            NODE("Elu", ["h0"], ["h1"], alpha=1.0),
            NODE("MatMul", ["h1", "b"], ["y"]),
            NODE("Add", ["d", "y"], ["y1"]),
            NODE("Clip", ["y1", "low", "high"], ["q"]),
        ],
        [
            *[constant(n, v) for n, v in (("low", -1), ("high", 1), ("d", [0.1, 0.2]))],
            *[constant(n, np.ones(4) / 2) for n in ("mean", "std")],
            *[constant(n, np.ones(s)) for n, s in (("a", (6, 4)), ("b", (6, 2)), ("c", 6))],
        ],
    )


class Joints(gym.Env[Any, Any]):
    """Four numbers in, two out."""

    observation_space = gym.spaces.Box(-5, 5, (4,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float32)


OTHERS = ("Loop", "If", "Scan", "NonZero", "Einsum", "LSTM", "Compress", "Unique", "RandomNormal")


@CASES
@pytest.mark.parametrize("make", [perceptron, convolution])
def test_damaged_onnx_files_are_refused_in_one_sentence(
    make: Callable[[], onnx.ModelProto], cases: int, tmp_path: Path
) -> None:
    data, operators = make().SerializeToString(), (*sorted(OPERATORS), *OTHERS)
    path = tmp_path / "m.onnx"
    check_core(path, lambda rng: mutate_model(data, rng, operators), cases, CARTPOLE, output="q")


@CASES
def test_damaged_onnx_files_with_continuous_actions_are_refused_in_one_sentence(
    cases: int, tmp_path: Path
) -> None:
    data, operators = chain().SerializeToString(), (*sorted(OPERATORS), *OTHERS)
    path = tmp_path / "m.onnx"
    check_core(path, lambda rng: mutate_model(data, rng, operators), cases, Joints, clip=True)
