"""ONNX files of other programs as cores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from policy_inertia import InputError, export, load_core
from policy_inertia.policies.probing import OutputKind
from tests.support.cores import scores_of
from tests.support.policies import OBS, fresh

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)

Output = tuple[str, dict[str, Any], str, tuple[int, ...]]
"""Operator, attributes, type and shape of an output."""
IDENTITY: Output = ("Identity", {}, "float", (2,))
SOFTMAX: Output = ("Softmax", {"axis": 1}, "float", (2,))
LOG_SOFTMAX: Output = ("LogSoftmax", {"axis": 1}, "float", (2,))
BEST: Output = ("ArgMax", {"axis": 1, "keepdims": 0}, "int", ())


def onnx_file(
    path: Path,
    outputs: dict[str, Output],
    batch: str | int = "batch",
    shape: tuple[int, ...] = (4,),
    opset: int = 13,
    extra: Sequence[str] = (),
) -> Path:
    """A file whose outputs are functions of `obs @ W`."""
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


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("outputs", "options", "kind"),
    [
        ({"output": SOFTMAX}, {}, "probabilities"),
        ({"output": LOG_SOFTMAX}, {}, "logits"),
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
def test_outputs_are_given_or_inferred(
    tmp_path: Path,
    outputs: dict[str, Output],
    options: dict[str, Any],
    kind: OutputKind,
    batch: str | int,
) -> None:
    path = onnx_file(tmp_path / "m.onnx", outputs, batch)
    core = load_core(path, "CartPole-v1", **options)
    assert core.kind == kind
    values = OBS @ W
    soft = kind in ("logits", "probabilities")
    expected = softmax(values) if soft else np.eye(2)[values.argmax(1)]
    np.testing.assert_allclose(core.probabilities(OBS), expected, atol=1e-6)


def test_file_may_take_another_shape_of_the_same_size(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "m.onnx", {"q": IDENTITY}, shape=(2, 2))
    core = load_core(path, "CartPole-v1")
    np.testing.assert_allclose(scores_of(core, OBS), OBS @ W, atol=1e-6)


def test_statistics_are_applied_before_the_file(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "m.onnx", {"q": IDENTITY})
    mean, var = np.arange(4.0), np.full(4, 4.0)
    core = load_core(path, "CartPole-v1", normalise=(mean, var))
    np.testing.assert_allclose(scores_of(core, OBS), (OBS - mean) / 2 @ W, atol=1e-5)


@pytest.mark.parametrize(
    ("outputs", "changes", "options", "message"),
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
def test_files_that_cannot_be_cores_are_refused(
    tmp_path: Path,
    outputs: dict[str, Output],
    changes: dict[str, Any],
    options: dict[str, Any],
    message: str,
) -> None:
    path = onnx_file(tmp_path / "m.onnx", outputs, **changes)
    with pytest.raises(InputError, match=message) as caught:
        load_core(path, "CartPole-v1", **options)
    assert "\n" not in str(caught.value)


def test_files_of_another_env_or_without_a_graph_are_refused(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "m.onnx", {"q": IDENTITY})
    with pytest.raises(InputError, match=r"takes observations of shape \(4,\) .* \(6,\)"):
        load_core(path, "Acrobot-v1")
    (tmp_path / "bad.onnx").write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot be read as an ONNX network"):
        load_core(tmp_path / "bad.onnx", "CartPole-v1")


def test_file_that_we_exported_is_no_core(tmp_path: Path) -> None:
    export(fresh("nsac"), tmp_path / "ours.onnx")
    with pytest.raises(InputError, match="a whole policy that policy-inertia exported"):
        load_core(tmp_path / "ours.onnx", "CartPole-v1")
