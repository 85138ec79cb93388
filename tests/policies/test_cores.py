"""Callables, our own policies, and ONNX files as cores; what they must not give."""

import gymnasium as gym
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.policies.probing import example_observations
from tests.support import probes
from tests.support.policies import OBS, fresh

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# --- callables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "output", "kind"),
    [
        (lambda obs: (obs @ W).argmax(1), None, "action"),
        (lambda obs: int((obs @ W).argmax()), None, "action"),
        (lambda obs: np.array([(obs @ W).argmax()]), None, "action"),
        (lambda obs: softmax(obs @ W), None, "probabilities"),
        (lambda obs: list(softmax(W.T @ obs)), None, "probabilities"),
        (lambda obs: np.log(softmax(obs @ W)), None, "logits"),
        (lambda obs: obs @ W, "q", "q"),
        (lambda obs: W.T @ obs, "logits", "logits"),
        (lambda obs: (W.T @ obs)[None], "q", "q"),
    ],
)
def test_callables_of_every_kind_batched_or_not(function, output, kind):
    core = load_core(function, "CartPole-v1", output=output)
    assert core.kind == kind
    values = OBS @ W
    best = np.eye(2)[values.argmax(1)]
    expected = softmax(values) if kind in ("logits", "probabilities") else best
    np.testing.assert_allclose(core.probabilities(OBS), expected, atol=1e-6)
    if kind == "action":
        assert core.scores(OBS) is None
    elif kind == "q":
        np.testing.assert_allclose(core.scores(OBS), values, atol=1e-6)
    else:
        np.testing.assert_allclose(core.scores(OBS), np.log(softmax(values)), atol=1e-5)
    for obs in OBS[:3]:
        action, _ = core.predict(obs, deterministic=True)
        assert action == (obs @ W).argmax()


def test_actions_of_the_env_are_counted_from_its_first():
    class Offset(probes.Probe):
        action_space = gym.spaces.Discrete(2, start=7)

    core = load_core(lambda obs: 8, Offset)
    np.testing.assert_array_equal(core.probabilities(np.zeros((3, 1))), [[0, 1]] * 3)
    assert core.predict(np.zeros(1))[0] == 8
    with pytest.raises(InputError, match="this env has 7 to 8, so the action spaces differ"):
        load_core(lambda obs: 1, Offset)


def test_discrete_observations_reach_a_callable_as_they_are():
    table = np.eye(4)[np.arange(16) % 4]
    core = load_core(lambda s: table[s], "FrozenLake-v1")
    np.testing.assert_array_equal(core.probabilities(np.arange(16)), table)


def test_zero_probabilities_stay_zero():
    core = load_core(lambda obs: np.array([1.0, 0.0]), "CartPole-v1")
    np.testing.assert_array_equal(core.probabilities(OBS), [[1, 0]] * 16)
    assert np.isfinite(core.scores(OBS)).all()


def test_temperature_sharpens_or_flattens():
    p = np.array([0.8, 0.2])
    core = load_core(lambda obs: p, "CartPole-v1", temperature=2)
    expected = p**0.5 / (p**0.5).sum()
    np.testing.assert_allclose(core.probabilities(OBS[:1])[0], expected, atol=1e-6)
    greedy = load_core(lambda obs: p, "CartPole-v1", temperature=0)
    np.testing.assert_array_equal(greedy.probabilities(OBS[:1]), [[1, 0]])


def test_hysteresis_of_a_core_is_carried_by_its_state():
    core = load_core(lambda obs: obs @ W, "CartPole-v1", output="q")
    q = OBS @ W
    gain = q[:, 1] - q[:, 0]
    tau = float(np.median(abs(gain)))
    held, state = core.with_hysteresis(tau).predict(OBS, (np.zeros(16, int),), deterministic=True)
    np.testing.assert_array_equal(held, gain >= tau)
    np.testing.assert_array_equal(state[0], held)
    start = np.ones(16, bool)
    new, _ = core.with_hysteresis(tau).predict(OBS, (np.zeros(16, int),), start, True)
    np.testing.assert_array_equal(new, q.argmax(1))


def test_sampling_of_a_core_is_reproducible():
    core = load_core(lambda obs: softmax(obs @ W), "CartPole-v1")
    found = []
    for _ in range(2):
        core.seed(3)
        found.append(core.predict(np.repeat(OBS, 20, axis=0))[0])
    np.testing.assert_array_equal(*found)
    one, two = (evaluate(core, "CartPole-v1", 3, seed=1).episodes for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.actions, b.actions)


class Recurrent:
    def predict(self, obs, state=None, episode_start=None, deterministic=False):
        return np.zeros(len(obs), int), (np.ones(3),)


class Predicting:
    def predict(self, obs, state=None, episode_start=None, deterministic=False):
        return (np.atleast_2d(obs) @ W).argmax(1), None


def test_anything_that_predicts_is_a_core():
    core = load_core(Predicting(), "CartPole-v1")
    np.testing.assert_array_equal(core.probabilities(OBS), np.eye(2)[(OBS @ W).argmax(1)])


@pytest.mark.parametrize(
    ("core", "output", "says"),
    [
        (lambda obs: obs @ W, None, "may be logits or Q-values: say which"),
        (lambda obs: np.full((len(obs), 2), np.nan), "q", "gave NaN or infinity"),
        (lambda obs: np.full(len(obs), np.nan), None, "gave NaN or infinity"),
        (lambda obs: obs @ W[:, :1] @ np.ones((1, 3)), "q", r"gave shape \(3, 3\) .* \(3, 2\)"),
        (lambda obs: obs, None, r"float32 of shape \(3, 4\) .* expected actions \(3,\)"),
        (lambda obs: obs[:, 0], None, r"of shape \(3,\)"),
        (lambda obs: softmax(obs @ W) * 1.1, "probabilities", "sum to 1.1"),
        (lambda obs: np.tile([1.5, -0.5], (len(obs), 1)), "probabilities", "or are negative"),
        (lambda obs: np.full(len(obs), 2), None, "this env has 0 to 1, so the action spaces"),
        (lambda obs: "left", None, "gave values of type"),
        (lambda a, b: 0, None, r"fails on observations of shape \(4,\)"),
        (lambda obs: obs @ W, "quality", "output is 'quality'"),
        (Recurrent(), None, "carries a state from step to step"),
        (42, None, "a core cannot be made of int"),
    ],
)
def test_bad_cores_are_refused_in_one_sentence(core, output, says):
    with pytest.raises(InputError, match=says) as caught:
        load_core(core, "CartPole-v1", output=output)
    assert "\n" not in str(caught.value)


def test_callable_that_goes_wrong_later_is_refused_then():
    calls = []

    def moody(obs):
        calls.append(1)
        return np.full((len(obs), 2), 0.5 if len(calls) < 2 else np.nan)

    core = load_core(moody, "CartPole-v1")
    with pytest.raises(InputError, match="moody gave NaN or infinity"):
        core.probabilities(OBS)


def test_settings_of_a_core_that_make_no_sense_are_refused():
    actions = lambda obs: 0  # noqa: E731
    with pytest.raises(InputError, match="gives actions: a temperature needs"):
        load_core(actions, "CartPole-v1", temperature=1)
    with pytest.raises(InputError, match="temperature is -1"):
        load_core(lambda obs: obs @ W, "CartPole-v1", output="q", temperature=-1)
    with pytest.raises(InputError, match="gives actions only"):
        load_core(actions, "CartPole-v1").with_hysteresis(0.1)
    with pytest.raises(InputError, match="0 or more"):
        load_core(lambda obs: obs @ W, "CartPole-v1", output="q").with_hysteresis(-1)
    with pytest.raises(InputError, match="env of <lambda> is not known"):
        load_core(actions)
    with pytest.raises(InputError, match=r"shape \(4,\): .* a batch of \(4,\)"):
        load_core(actions, "CartPole-v1").probabilities(OBS[0])


# --- our own ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac", "ndqn"])
def test_our_policies_are_cores(method, tmp_path):
    policy = fresh(method)
    policy.save(tmp_path / "policy.safetensors")
    for source in (policy, tmp_path, tmp_path / "policy.safetensors"):
        core = load_core(source, "CartPole-v1")
        np.testing.assert_allclose(
            core.probabilities(OBS), policy.core_probabilities(OBS), atol=1e-6
        )
        assert core.kind == ("q" if "dqn" in method else "logits")
    assert load_core(core) is core


def test_our_policies_that_carry_more_are_refused():
    with pytest.raises(InputError, match="carries how long it still holds"):
        load_core(fresh("dqn-repeat"))
    with pytest.raises(InputError, match="without its hysteresis"):
        load_core(fresh("dqn").with_hysteresis(1))
    nested = fresh("nsac").with_hysteresis(0.1)
    np.testing.assert_allclose(
        load_core(nested).probabilities(OBS), nested.core_probabilities(OBS), atol=1e-6
    )
    with pytest.raises(InputError, match="give the env that it was trained on"):
        load_core(fresh("dqn"), "Acrobot-v1")


# --- ONNX files of other programs ---------------------------------------------------------------


def onnx_file(path, outputs: dict, batch="batch", shape=(4,), opset=13, extra=()) -> str:
    """A file whose outputs are nodes of `obs @ W`: {name: (operator, attributes, dtype)}."""
    dtype = {"float": TensorProto.FLOAT, "int": TensorProto.INT64}
    nodes = [helper.make_node("Flatten", ["obs"], ["flat"])]
    nodes.append(helper.make_node("MatMul", ["flat", "w"], ["x"]))
    infos = []
    for name, (operator, attributes, kind, size) in outputs.items():
        nodes.append(helper.make_node(operator, ["x"], [name], **attributes))
        infos.append(helper.make_tensor_value_info(name, dtype[kind], [batch, *size]))
    inputs = [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [batch, *shape])]
    inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in extra]
    graph = helper.make_graph(nodes, "g", inputs, infos, [numpy_helper.from_array(W, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    onnx.save(model, str(path))
    return path


IDENTITY = ("Identity", {}, "float", (2,))
SOFTMAX = ("Softmax", {"axis": 1}, "float", (2,))
LOGS = ("LogSoftmax", {"axis": 1}, "float", (2,))
BEST = ("ArgMax", {"axis": 1, "keepdims": 0}, "int", ())


@pytest.mark.parametrize(
    ("outputs", "told", "kind"),
    [
        ({"output": SOFTMAX}, {}, "probabilities"),
        ({"output": LOGS}, {}, "logits"),
        ({"output": BEST}, {}, "action"),
        ({"output": IDENTITY}, {"output": "q"}, "q"),
        ({"output": IDENTITY}, {"output": "logits"}, "logits"),
        ({"q_values": IDENTITY}, {}, "q"),
        ({"logits": IDENTITY}, {}, "logits"),
        ({"actions": BEST, "q_values": IDENTITY}, {}, "q"),
        ({"actions": BEST, "q_values": IDENTITY}, {"output": "action"}, "action"),
        ({"a": BEST, "b": IDENTITY}, {"output": "action"}, "action"),
        ({"a": SOFTMAX, "b": IDENTITY}, {"output": "q", "output_name": "b"}, "q"),
        ({"a": SOFTMAX, "b": IDENTITY}, {"output_name": "a"}, "probabilities"),
    ],
)
@pytest.mark.parametrize("batch", ["batch", 1])
def test_onnx_outputs_are_told_or_found_out(tmp_path, outputs, told, kind, batch):
    path = onnx_file(tmp_path / "m.onnx", outputs, batch)
    core = load_core(path, "CartPole-v1", **told)
    assert core.kind == kind
    values = OBS @ W
    soft = kind in ("logits", "probabilities")
    expected = softmax(values) if soft else np.eye(2)[values.argmax(1)]
    np.testing.assert_allclose(core.probabilities(OBS), expected, atol=1e-6)


def test_onnx_file_may_take_another_shape_of_the_same_size(tmp_path):
    path = onnx_file(tmp_path / "m.onnx", {"q": IDENTITY}, shape=(2, 2))
    core = load_core(path, "CartPole-v1")
    np.testing.assert_allclose(core.scores(OBS), OBS @ W, atol=1e-6)


@pytest.mark.parametrize(
    ("outputs", "changes", "told", "says"),
    [
        ({"output": IDENTITY}, {}, {}, "may be logits or Q-values: say which"),
        (
            {"a": SOFTMAX, "b": IDENTITY},
            {},
            {},
            r"outputs a float32\[2\], b .* which of them is which",
        ),
        ({"a": SOFTMAX, "b": IDENTITY}, {}, {"output": "q"}, "which of them is the q"),
        ({"a": SOFTMAX}, {}, {"output_name": "aa"}, "no output 'aa': did you mean 'a'"),
        ({"q": IDENTITY}, {"opset": 999}, {}, "cannot load .* opset"),
        ({"q": IDENTITY}, {"extra": ("hidden",)}, {}, "has the inputs obs, hidden"),
        ({"q": IDENTITY}, {"batch": 5}, {}, "takes 5 observations at a time"),
        ({"out": IDENTITY}, {}, {"output": "action"}, r"gave actions of shape \(8, 2\)"),
    ],
)
def test_onnx_files_that_cannot_be_cores_are_refused(tmp_path, outputs, changes, told, says):
    path = onnx_file(tmp_path / "m.onnx", outputs, **changes)
    with pytest.raises(InputError, match=says) as caught:
        load_core(path, "CartPole-v1", **told)
    assert "\n" not in str(caught.value)


def test_onnx_file_of_another_env_or_of_nothing_is_refused(tmp_path):
    path = onnx_file(tmp_path / "m.onnx", {"q": IDENTITY})
    with pytest.raises(InputError, match=r"takes observations of shape \(4,\) .* \(6,\)"):
        load_core(path, "Acrobot-v1")
    (tmp_path / "bad.onnx").write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot load"):
        load_core(tmp_path / "bad.onnx", "CartPole-v1")
    fresh("nsac").export(tmp_path / "ours.onnx")
    with pytest.raises(InputError, match="a whole policy that policy-inertia exported"):
        load_core(tmp_path / "ours.onnx", "CartPole-v1")


def test_examples_are_inside_the_space_and_leave_its_generator_alone():
    for space in (
        gym.spaces.Box(-0.1, 0.1, (3,)),
        gym.spaces.Box(0, 255, (2, 2), np.uint8),
        gym.spaces.Discrete(5, start=2),
    ):
        space.seed(0)
        state = space.np_random.bit_generator.state
        found = example_observations(space, 50)
        assert all(space.contains(o.astype(space.dtype) if o.ndim else o) for o in found)
        assert space.np_random.bit_generator.state == state
        np.testing.assert_array_equal(found, example_observations(space, 50))
