"""Our policies in onnxruntime beside themselves."""

import dataclasses
import json

import gymnasium as gym
import numpy as np
import onnx
import pytest

from policy_inertia import InputError, Policy
from policy_inertia.interop import onnx_out as exporting
from policy_inertia.interop.description import describe
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_out import export, nearly_tied
from policy_inertia.networks.layers import Linear
from tests.support.calibrations import reaching
from tests.support.policies import fresh, with_mu

RNG = np.random.default_rng(5)
OBS = RNG.normal(0, 2, (10_000, 4)).astype(np.float32)
PREV = RNG.integers(-1, 2, 10_000)


def ask(path, obs=OBS, prev=PREV):
    return session(path).run(
        ["action", "probabilities", "inertia"], {"observation": obs, "previous_action": prev}
    )


def act(policy: Policy, obs=OBS, prev=PREV) -> np.ndarray:
    return policy.predict(obs, (prev,), deterministic=True)[0]


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
def test_file_acts_as_the_policy_on_ten_thousand_observations(method, settings, tau, tmp_path):
    policy = fresh(method, **settings)
    policy = policy if tau is None else policy.with_hysteresis(tau)
    written = export(policy, tmp_path / "p.onnx")
    assert written.difference < 1e-5
    assert "1,000 random inputs" in str(written)
    action, pi, mu = ask(written.path)
    core = describe(policy).core_output(OBS)
    near = nearly_tied(core)
    if tau is not None:
        scores = policy.acting(OBS, PREV).scores
        best = np.sort(scores, 1)[:, -1]
        near |= abs(best - scores[np.arange(len(OBS)), PREV] - tau) < 1e-5
    near |= nearly_tied(policy.probabilities(OBS, PREV))
    differ = action != act(policy)
    assert not (differ & ~near).any()
    assert differ.sum() <= 10
    np.testing.assert_allclose(mu, policy.inertia(OBS, PREV), atol=1e-6)
    expected = policy.probabilities(OBS, PREV)
    np.testing.assert_allclose(pi[~near], expected[~near], atol=1e-6)
    assert (mu[PREV < 0] == 0).all()
    assert len(set(action.tolist())) == 2


@pytest.mark.parametrize("x", [-40.0, 40.0])
def test_extreme_inertia_is_as_exact(x, tmp_path):
    policy = with_mu(fresh("nsac"), x).with_hysteresis(1.0)
    action, pi, _ = ask(export(policy, tmp_path / "p.onnx").path)
    np.testing.assert_allclose(pi, policy.probabilities(OBS, PREV), atol=1e-6)
    assert (action != act(policy)).mean() < 1e-3


def test_other_shapes_of_observations(tmp_path):
    class Matrix(gym.Env):
        observation_space = gym.spaces.Box(-1, 1, (3, 2))
        action_space = gym.spaces.Discrete(3, start=4)

        def reset(self, *, seed=None, options=None):
            return np.zeros((3, 2), np.float32), {}

    policy = fresh("nsac", env=Matrix)
    path = export(policy, tmp_path / "p.onnx").path
    obs = RNG.normal(size=(50, 3, 2)).astype(np.float32)
    prev = RNG.integers(-1, 3, 50)
    action, pi, _ = ask(path, obs, prev)
    np.testing.assert_allclose(pi, policy.probabilities(obs, prev), atol=1e-6)
    about = session(path).get_modelmeta().custom_metadata_map
    assert about["first_action"] == "4"  # the file counts from 0
    np.testing.assert_array_equal(action + 4, act(policy, obs, prev))


def test_discrete_observations(tmp_path):
    policy = fresh("ndqn", env=lambda: gym.make("FrozenLake-v1"))
    path = export(policy, tmp_path / "p.onnx").path
    obs, prev = np.arange(16), RNG.integers(-1, 4, 16)
    action, pi, _ = ask(path, obs, prev)
    np.testing.assert_allclose(pi, policy.probabilities(obs, prev), atol=1e-6)
    np.testing.assert_array_equal(action, act(policy, obs, prev))


def test_file_says_what_it_is_and_what_it_needs(tmp_path):
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
    assert about["spaces"]["n_actions"] == 2
    assert {"policy-inertia", "numpy", "onnx"} <= set(about["versions"])


@pytest.mark.parametrize("method", ["dial-dqn", "dial-sac"])
@pytest.mark.parametrize("act_by", ["gate", "full", "mu"])
def test_dial_acts_in_the_file_as_it_does_at_every_price(method, act_by, tmp_path):
    dial = reaching(fresh(method, act=act_by, largest=3.0), 3.0).modes()[-1]
    written = export(dial.at(0.1), tmp_path / "p.onnx")
    assert written.difference < 1e-5
    asked = {"observation": OBS, "previous_action": PREV}
    names = ["action", "inertia"]
    held = []
    for price in (None, 0.0, 0.02, 3.0):  # None: left out, so what it was set to
        policy = dial.at(0.1 if price is None else price)
        fed = {} if price is None else {"lambda": np.array([price], np.float32)}
        action, mu = session(written.path).run(names, {**asked, **fed})
        acting = policy.acting(OBS, PREV)
        assert (action != acting.log_pi.argmax(1)).mean() < 1e-3  # at ties
        assert (abs(mu - acting.mu) > 1e-4).mean() < 1e-3
        held.append((action == PREV)[PREV >= 0].mean())
    if act_by != "mu":
        assert held[1] < held[3]
        assert held[3] > 0.99
    each = np.array([0.0, 0.02, 3.0, 3.0], np.float32)
    rows = {name: value[:4] for name, value in asked.items()}
    mixed = session(written.path).run(names, {**rows, "lambda": each})[0]
    np.testing.assert_array_equal(mixed, dial.at(each).acting(OBS[:4], PREV[:4]).log_pi.argmax(1))


def test_dial_that_learned_nothing_can_be_written(tmp_path):
    policy = fresh("dial-dqn")
    assert policy.largest_price == 0
    assert (ask(export(policy, tmp_path / "p.onnx").path)[0] != act(policy)).mean() < 1e-3


def test_dial_of_one_price_has_no_lambda(tmp_path):
    policy = fresh("dial-dqn", price=0.5)
    path = export(policy, tmp_path / "p.onnx").path
    assert [i.name for i in onnx.load(path).graph.input] == ["observation", "previous_action"]
    assert (ask(path)[0] != act(policy)).mean() < 1e-3


@pytest.mark.parametrize("method", ["dqn", "nsac", "dial-dqn", "dial-sac"])
def test_file_holds_nothing_that_is_not_used(method, tmp_path):
    """Programs that load it would warn of each such number."""
    graph = onnx.load(export(fresh(method), tmp_path / "p.onnx").path).graph
    used = {name for node in graph.node for name in node.input}
    assert {constant.name for constant in graph.initializer} <= used


def test_same_policy_same_bytes(tmp_path):
    policy = fresh("nsac")
    one, two = (export(policy, tmp_path / f"{n}.onnx").path.read_bytes() for n in "ab")
    assert one == two


def test_repetition_is_refused(tmp_path):
    with pytest.raises(InputError, match="carries how long it still holds its action"):
        export(fresh("dqn-repeat"), tmp_path / "p.onnx")
    with pytest.raises(InputError, match=r"an ONNX file ends in \.onnx"):
        export(fresh("dqn"), tmp_path / "p.bin")
    assert not list(tmp_path.iterdir())


def test_graph_that_differs_is_not_written(tmp_path, monkeypatch):
    def wrong(policy):
        model = describe(policy)
        ((eyes, (*first, last)),) = model.controller.networks
        last = Linear(last.w, last.b + 0.01)
        networks = ((eyes, (*first, last)),)
        controller = dataclasses.replace(model.controller, networks=networks)
        return dataclasses.replace(model, controller=controller)

    monkeypatch.setattr(exporting, "describe", wrong)
    with pytest.raises(InputError, match=r"differs from Policy\(nsac .* nothing was written"):
        export(fresh("nsac"), tmp_path / "p.onnx")
    assert not list(tmp_path.iterdir())
