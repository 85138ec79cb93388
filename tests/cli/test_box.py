"""The commands on policies with continuous actions: smooth, then evaluate, record and dial."""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from policy_inertia import ContinuousCore, Exponential, evaluate
from policy_inertia.envs.spaces import Spaces
from policy_inertia.networks.layers import Activation, Linear
from tests.cli.conftest import Run
from tests.support.policies import fresh

PENDULUM = "Pendulum-v1"
SHORT = ("--env-kwargs", "max_episode_steps=20")


def shaky() -> ContinuousCore:
    """A perceptron that turns much too hard."""
    env = gym.make(PENDULUM)
    spaces = Spaces.of(env.observation_space, env.action_space, PENDULUM)
    weights = np.array([[0.0, 3.0, -9.0]], np.float32).T
    layers = (
        Linear(weights, np.zeros(1, np.float32)),
        Activation("Tanh"),
        Linear(np.full((1, 1), 2.0, np.float32), np.zeros(1, np.float32)),
    )
    return ContinuousCore.from_layers("shaky", spaces, layers, env.observation_space)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("core") / "shaky.safetensors"
    shaky().on(PENDULUM, {"max_episode_steps": 20}).save(path)
    return path


def test_smoothed_policy_is_evaluated_recorded_and_dialled(
    run: Run, core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = (Exponential(1.0),)
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", filters)
    out = tmp_path / "run"
    few = ("--episodes", 4, "--set", "calibration_episodes=4", "--hysteresis-only", *SHORT)
    limit = ("--limit", 0.05, "--burst", 0.3)
    code, text, _ = run(
        "smooth", core, PENDULUM, "--budget", 0.05, *limit, *few, "--loss", 1, "--out", out
    )
    assert code == 0
    assert "moves by at most 0.3 + 0.05 n of its range in n steps, always" in text
    assert "calibrating exponential" in text
    assert "evaluate, record, export and dial take it" in text
    assert (out / "frontiers.png").exists()
    smoothed = ContinuousCore.load(out)
    assert (smoothed.task, smoothed.env_kwargs) == (PENDULUM, {"max_episode_steps": 20})

    words = ("--episodes", 2, "--limit", 0.01, "--burst", 0.1, "--json")
    budget = () if smoothed.rule is None else ("--budget", 0.05)  # the limit may be enough
    rows = json.loads(run("evaluate", out, *words, *budget).out)
    same = evaluate(smoothed, PENDULUM, 2, env_kwargs=smoothed.env_kwargs).summary()
    assert rows["greedy"]["action_fluctuation"] == same["action_fluctuation"]
    assert rows["core alone"]["action_fluctuation"] > same["action_fluctuation"]
    assert rows["limit 0.01, burst 0.1"]["action_fluctuation"] <= 0.01 + 0.1 / 19

    film = tmp_path / "film.gif"
    code, text, _ = run("record", out, "--steps", 5, "--out", film, "--beside", core)
    assert code == 0
    assert "episode 0: return" in text
    assert "action fluctuation 0." in text
    with Image.open(film) as gif:
        assert gif.size[0] == 480


@pytest.mark.usefixtures("quick_compiler")
def test_trained_controller_is_taken_by_the_other_commands(
    run: Run, core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = (Exponential(1.0),)
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", filters)
    out = tmp_path / "run"
    small = ("calibration_episodes=2", "hidden=[8,8]", "batch_size=16", "eval_episodes=2")
    words = ("--train", "--steps", 200, "--episodes", 4, "--set", *small, *SHORT)
    code, text, _ = run("smooth", core, PENDULUM, "--budget", 0.05, *words, "--out", out)
    assert code == 0
    assert "controller (price)" in text
    assert "calibrating the last controller" in text
    folder = out / "controller"
    rows = json.loads(run("evaluate", folder, "--episodes", 2, "--price", 0, "--json").out)
    assert set(rows) == {"greedy", "core alone", "price 0"}
    assert run("record", folder, "--steps", 3, "--out", tmp_path / "r.gif").code == 0
    code, text, _ = run("dial", folder, "--episodes", 1, "--out", tmp_path / "dial.svg")
    assert code == 0
    for flag, name in (("--out", "p.onnx"), ("--c", "p.c"), ("--numpy", "p.npz")):
        assert run("export", folder, flag, tmp_path / name).code == 0
        assert (tmp_path / name).exists()


def test_dial_of_a_filter_shows_its_curve_against_the_fluctuation(
    run: Run, core: Path, tmp_path: Path
) -> None:
    path = tmp_path / "filtered.safetensors"
    ContinuousCore.load(core).with_filter(Exponential(0.5)).save(path)
    code, text, _ = run("dial", path, "--episodes", 1, "--out", tmp_path / "dial.svg")
    assert code == 0
    assert "exponential on Pendulum-v1, 1 greedy episodes each" in text
    assert "action fluctuation" in (tmp_path / "dial.svg").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("evaluate", "CORE", "--hysteresis", 0.1), "hysteresis compares the scores of Discrete"),
        (("evaluate", "CORE", "--price", 0.1), "no dial, which prices are for"),
        (("evaluate", "CORE", "--budget", 0.1), "shaky has no filter, so there is nothing to set"),
        (("evaluate", "CORE", "--limit", 2), "the rate of a limit is 2"),
        (("evaluate", "CORE", "--env", "CartPole-v1"), "and CartPole-v1 has a Discrete"),
        (("record", "CORE", "--hysteresis", 0.1), "hysteresis compares the scores of Discrete"),
        (("smooth", "CORE", PENDULUM, "--mu"), "mu asks for the paper's inertia"),
        (
            ("smooth", "CORE", PENDULUM, "--train", "--dimensions", "delta"),
            "train asks for a trained controller, and it is for numbers that are all absolute",
        ),
        (("smooth", "CORE", PENDULUM, "--budget", 2), "the budget is 2.0: give a share of the"),
        (
            ("smooth", "CORE", PENDULUM, "--dimensions", "delta", "absolute"),
            "2 dimensions are declared and an action has 1 numbers",
        ),
        (
            ("smooth", "CORE", "MountainCarContinuous-v0"),
            "and actions that are a Box of shape (1,)",
        ),
    ],
)
def test_bad_words_are_refused_in_one_sentence(
    run: Run, core: Path, tmp_path: Path, words: tuple[object, ...], says: str
) -> None:
    given = [core if word == "CORE" else word for word in words]
    out = () if words[0] == "evaluate" else ("--out", tmp_path / "x.gif")
    code, _, error = run(*given, *out)
    assert code == 2
    assert says in error
    assert error.count("\n") == 1


def test_limit_of_a_discrete_policy_still_counts_switches(run: Run, tmp_path: Path) -> None:
    fresh("dqn").save(tmp_path / "policy.safetensors")
    words = ("--episodes", 1, "--limit", 0.1, "--burst", 0.5, "--env", "CartPole-v1")
    code, _, error = run("evaluate", tmp_path, *words)
    assert code == 2
    assert "burst" in error


def test_policy_of_an_onnx_file_can_be_given_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", (Exponential(1.0),))
    file, out = tmp_path / "actor.onnx", tmp_path / "run"
    nodes = [
        helper.make_node("Gemm", ["obs", "w"], ["u"]),
    ]
    weights = numpy_helper.from_array(np.array([[0.0], [3.0], [-9.0]], np.float32), "w")
    graph = helper.make_graph(
        nodes,
        "actor",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("u", TensorProto.FLOAT, ["n", 1])],
        [weights],
    )
    opset = [helper.make_opsetid("", 17)]
    file.write_bytes(
        helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    )
    few = ("--episodes", 2, "--set", "calibration_episodes=2", *SHORT)
    words = ("smooth", file, PENDULUM, "--budget", 0.05, "--loss", 1, "--out", out, *few)
    code, _, error = run(*words)
    assert code == 2
    assert "clip the policy's actions" in error
    assert run(*words, "--clip").code == 0
    code, text, _ = run("evaluate", out, "--episodes", 1, "--core", file, "--clip", "--json")
    assert code == 0
    assert json.loads(text)["greedy"]["length"] == 20
