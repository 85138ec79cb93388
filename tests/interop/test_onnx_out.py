"""Exported policies in onnxruntime, beside the policies themselves."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnx
import pytest

from policy_inertia import InputError, Policy, export
from policy_inertia.interop import onnx_out
from policy_inertia.interop.description import PolicyDescription, describe
from policy_inertia.interop.onnx_discrete import nearly_tied
from policy_inertia.interop.onnx_in import session
from policy_inertia.networks.layers import Linear
from policy_inertia.policies.memory import PREVIOUS_ACTION, REMAINING
from tests.support.calibrations import reaching
from tests.support.policies import fresh, with_mu

RNG = np.random.default_rng(5)
OBS = RNG.normal(0, 2, (10_000, 4)).astype(np.float32)
PREVIOUS = RNG.integers(-1, 2, 10_000)


def run_file(
    path: Path, obs: np.ndarray = OBS, previous: np.ndarray = PREVIOUS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Action, probabilities and inertia from a file."""
    return session(path).run(
        ["action", "probabilities", "inertia"], {"observation": obs, "previous_action": previous}
    )


def act(policy: Policy, obs: np.ndarray = OBS, previous: np.ndarray = PREVIOUS) -> np.ndarray:
    return policy.predict(obs, {PREVIOUS_ACTION: previous}, deterministic=True)[0]


def input_names(path: Path) -> list[str]:
    return [i.name for i in onnx.load(path).graph.input]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("dqn", {}),
        ("sac", {}),
        ("nsac", {}),
        ("nsac", {"mu0": 0.3}),
        ("ndqn", {}),
        ("ndqn", {"mu0": 0.3}),
    ],
)
@pytest.mark.parametrize("tau", [None, 0.05])
def test_file_acts_as_the_policy_on_ten_thousand_observations(
    method: str, settings: dict[str, Any], tau: float | None, tmp_path: Path
) -> None:
    policy = fresh(method, **settings)
    policy = policy if tau is None else policy.with_hysteresis(tau)
    written = export(policy, tmp_path / "p.onnx")
    assert written.difference < 1e-5
    assert "1,000 random inputs" in str(written)
    action, pi, mu = run_file(written.path)
    expected = policy.probabilities(OBS, PREVIOUS)
    near = nearly_tied(describe(policy).core_output(OBS)) | nearly_tied(expected)
    if tau is not None:
        scores = policy.acting(OBS, PREVIOUS).scores
        best = np.sort(scores, 1)[:, -1]
        near |= abs(best - scores[np.arange(len(OBS)), PREVIOUS] - tau) < 1e-5
    differ = action != act(policy)
    assert not (differ & ~near).any()
    assert differ.sum() <= 10
    np.testing.assert_allclose(mu, policy.inertia(OBS, PREVIOUS), atol=1e-6)
    np.testing.assert_allclose(pi[~near], expected[~near], atol=1e-6)
    assert (mu[PREVIOUS < 0] == 0).all()
    assert len(set(action.tolist())) == 2


@pytest.mark.parametrize("x", [-40.0, 40.0])
def test_extreme_inertia_is_as_exact(x: float, tmp_path: Path) -> None:
    policy = with_mu(fresh("nsac"), x).with_hysteresis(1.0)
    action, pi, _ = run_file(export(policy, tmp_path / "p.onnx").path)
    np.testing.assert_allclose(pi, policy.probabilities(OBS, PREVIOUS), atol=1e-6)
    assert (action != act(policy)).mean() < 1e-3


def test_matrices_and_another_first_action_are_exported(tmp_path: Path) -> None:
    class Matrix(gym.Env):
        observation_space = gym.spaces.Box(-1, 1, (3, 2))
        action_space = gym.spaces.Discrete(3, start=4)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[np.ndarray, dict[str, Any]]:
            return np.zeros((3, 2), np.float32), {}

    policy = fresh("nsac", env=Matrix)
    path = export(policy, tmp_path / "p.onnx").path
    obs = RNG.normal(size=(50, 3, 2)).astype(np.float32)
    previous = RNG.integers(-1, 3, 50)
    action, pi, _ = run_file(path, obs, previous)
    np.testing.assert_allclose(pi, policy.probabilities(obs, previous), atol=1e-6)
    about = session(path).get_modelmeta().custom_metadata_map
    assert about["first_action"] == "4"  # the file counts from 0
    np.testing.assert_array_equal(action + 4, act(policy, obs, previous))


def test_discrete_observations_are_exported(tmp_path: Path) -> None:
    policy = fresh("ndqn", env=lambda: gym.make("FrozenLake-v1"))
    path = export(policy, tmp_path / "p.onnx").path
    obs, previous = np.arange(16), RNG.integers(-1, 4, 16)
    action, pi, _ = run_file(path, obs, previous)
    np.testing.assert_allclose(pi, policy.probabilities(obs, previous), atol=1e-6)
    np.testing.assert_array_equal(action, act(policy, obs, previous))


def test_file_describes_itself(tmp_path: Path) -> None:
    path = export(fresh("nsac").with_hysteresis(0.2), tmp_path / "deep" / "p.onnx").path
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert (model.opset_import[0].version, model.ir_version) == (13, 7)
    shapes = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {
        "observation": ["batch", 4],
        "previous_action": ["batch"],
        "action": ["batch"],
        "probabilities": ["batch", 2],
        "inertia": ["batch"],
    }
    props = {p.key: p.value for p in model.metadata_props}
    about = json.loads(props["policy_inertia"])
    assert (props["task"], props["method"]) == ("CartPole-v1", "nsac")
    assert about["hysteresis"] == 0.2
    assert about["memory"] == ["previous_action"]
    assert about["spaces"]["actions"] == {"kind": "discrete", "n": 2, "first": 0}
    assert {"policy-inertia", "numpy", "onnx"} <= set(about["versions"])


@pytest.mark.parametrize("method", ["dial-dqn", "dial-sac", "gate-dqn", "gate-sac"])
@pytest.mark.parametrize("mode", [0, -1])
def test_dial_acts_in_the_file_as_it_does_at_every_price(
    method: str, mode: int, tmp_path: Path
) -> None:
    dial = reaching(fresh(method, largest=3.0), 3.0).modes()[mode]
    written = export(dial.at(0.1), tmp_path / "p.onnx", dial=True)
    assert written.difference < 1e-5
    feed: dict[str, np.ndarray] = {"observation": OBS, "previous_action": PREVIOUS}
    names = ["action", "inertia"]
    repeated = []
    fixed = export(dial.at(0.1), tmp_path / "fixed.onnx")
    assert input_names(fixed.path) == ["observation", "previous_action"]
    # None: the file that keeps the price that was set; -0.05: a margin; -3: the core itself
    for price in (None, -3.0, -0.05, 0.0, 0.02, 3.0):
        policy = dial.at(0.1 if price is None else price)
        given = {} if price is None else {"lambda": np.array([price], np.float32)}
        path = fixed.path if price is None else written.path
        action, mu = session(path).run(names, {**feed, **given})
        acting = policy.acting(OBS, PREVIOUS)
        assert (action != acting.policy.mode()).mean() < 1e-3  # at ties
        assert (abs(mu - acting.mu) > 1e-4).mean() < 1e-3
        repeated.append((action == PREVIOUS)[PREVIOUS >= 0].mean())
        if price == -3:
            np.testing.assert_array_equal(acting.policy.mode(), acting.core.mode())
    assert repeated[3] < repeated[5]
    assert repeated[5] > 0.99
    prices = np.array([-3.0, 0.02, -0.05, 3.0], np.float32)
    rows = {name: value[:4] for name, value in feed.items()}
    mixed = session(written.path).run(names, {**rows, "lambda": prices})[0]
    expected = dial.at(prices).acting(OBS[:4], PREVIOUS[:4]).policy.mode()
    np.testing.assert_array_equal(mixed, expected)


@pytest.mark.parametrize("dial", [False, True])
def test_onnxruntime_loads_a_dial_without_a_word(
    dial: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import onnxruntime

    policy = reaching(fresh("dial-dqn", largest=3.0), 3.0)
    path = export(policy, tmp_path / "p.onnx", dial=dial).path
    graph = onnx.load(path).graph
    assert not {i.name for i in graph.input} & {i.name for i in graph.initializer}
    onnxruntime.InferenceSession(str(path))  # with its own settings, which show warnings
    assert capfd.readouterr().err == ""


def test_only_a_dial_is_exported_as_one(tmp_path: Path) -> None:
    for policy in (fresh("dqn"), fresh("dial-dqn", price=0.5)):
        with pytest.raises(InputError, match="has no dial: export it without one"):
            export(policy, tmp_path / "p.onnx", dial=True)


def test_dial_that_learned_nothing_is_exported(tmp_path: Path) -> None:
    policy = fresh("dial-dqn")
    assert policy.largest_price == 0
    assert (run_file(export(policy, tmp_path / "p.onnx").path)[0] != act(policy)).mean() < 1e-3


@pytest.mark.parametrize("method", ["dial-dqn", "gate-sac"])
def test_controller_of_one_price_has_no_lambda(method: str, tmp_path: Path) -> None:
    policy = fresh(method, price=0.5)
    path = export(policy, tmp_path / "p.onnx").path
    assert input_names(path) == ["observation", "previous_action"]
    assert (run_file(path)[0] != act(policy)).mean() < 1e-3


@pytest.mark.parametrize("method", ["dqn-repeat", "sac-repeat"])
def test_memory_of_a_policy_that_holds_its_actions_goes_through_the_file(
    method: str, tmp_path: Path
) -> None:
    policy = fresh(method)
    run = session(export(policy, tmp_path / "p.onnx").path)
    state = policy.memory.initial(1_000)
    names = ["action", "probabilities", "next_remaining"]
    held = []
    for step in range(9):
        obs = OBS[1_000 * step : 1_000 * (step + 1)]
        action, pi, remaining = run.run(names, {"observation": obs, **state})
        expected, state = policy.predict(obs, state, deterministic=True)
        np.testing.assert_array_equal(action, expected)
        np.testing.assert_array_equal(remaining, state[REMAINING])
        np.testing.assert_allclose(pi, policy.probabilities(obs), atol=1e-6)
        held.append((remaining > 0).mean())
    assert 0 < min(held) <= max(held) <= 1
    state = policy.memory.reset(state, np.arange(1_000) % 2 == 0)
    action = run.run(["action"], {"observation": OBS[-1_000:], **state})[0]
    np.testing.assert_array_equal(action, policy.predict(OBS[-1_000:], state, None, True)[0])


@pytest.mark.parametrize("method", ["dqn", "nsac", "dial-dqn", "gate-sac", "dqn-repeat"])
def test_file_holds_no_number_that_is_not_used(method: str, tmp_path: Path) -> None:
    """Programs that load it would warn about each of them."""
    graph = onnx.load(export(fresh(method), tmp_path / "p.onnx").path).graph
    used = {name for node in graph.node for name in node.input}
    assert {constant.name for constant in graph.initializer} <= used


def test_same_policy_gives_the_same_bytes(tmp_path: Path) -> None:
    policy = fresh("nsac")
    one, two = (export(policy, tmp_path / f"{n}.onnx").path.read_bytes() for n in "ab")
    assert one == two


def test_export_leaves_the_generator_of_the_policy_alone(tmp_path: Path) -> None:
    policy = fresh("sac")
    policy.seed(0)
    expected = policy.predict(OBS)[0]
    policy.seed(0)
    export(policy, tmp_path / "p.onnx")
    np.testing.assert_array_equal(policy.predict(OBS)[0], expected)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"an ONNX file ends in \.onnx"):
        export(fresh("dqn"), tmp_path / "p.bin")
    assert not list(tmp_path.iterdir())


def test_controller_without_parts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = fresh("nsac")
    monkeypatch.setattr(type(policy.config), "parts", lambda self, params: None)
    with pytest.raises(InputError, match="cannot be exported: export its core instead"):
        export(policy, tmp_path / "p.onnx")


@pytest.mark.parametrize("method", ["nsac", "dial-dqn"])
def test_graph_that_differs_is_not_written(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(policy: Policy, dial: bool) -> PolicyDescription:
        description = describe(policy)
        assert description.controller is not None
        networks = []
        for features, (*first, last) in description.controller.networks:
            assert isinstance(last, Linear)
            shift = 0.1 * np.arange(1, len(last.b) + 1, dtype=np.float32)
            networks.append((features, (*first, Linear(last.w, last.b + shift))))
        controller = dataclasses.replace(description.controller, networks=tuple(networks))
        return dataclasses.replace(description, controller=controller)

    monkeypatch.setattr(onnx_out, "describe", wrong)
    with pytest.raises(InputError, match=rf"differs from Policy\({method} .* nothing was written"):
        export(fresh(method), tmp_path / "p.onnx")
    assert not list(tmp_path.iterdir())
