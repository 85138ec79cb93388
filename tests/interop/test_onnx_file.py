"""ONNX files that hold more than a feed-forward network of finite numbers are refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from policy_inertia import InputError, load_core
from policy_inertia.interop import onnx_file
from policy_inertia.interop.onnx_file import OPERATORS
from tests.support.cores import scores_of
from tests.support.onnx_models import W, constant, model_of, plus_constant, write_model

NODE = helper.make_node
LINEAR = NODE("MatMul", ["obs", "w"], ["q"])
OBS = np.ones((3, 4), np.float32)


def load(path: Path, model: Any, **options: Any) -> Any:
    onnx.save(model, str(path))
    return load_core(path, "CartPole-v1", **options)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_constants_that_are_not_finite_are_refused(tmp_path: Path, value: float) -> None:
    weights = W.copy()
    weights[1, 1] = value
    message = r"m\.onnx holds NaN or infinity in '{}': its training diverged"
    model = model_of([LINEAR])
    model.graph.initializer[0].CopyFrom(constant("w", weights))
    with pytest.raises(InputError, match=message.format("w")):
        load(tmp_path / "m.onnx", model)
    node = NODE("Constant", [], ["v"], value=constant("", weights))
    with pytest.raises(InputError, match=message.format("v")):
        load(tmp_path / "m.onnx", model_of([node, NODE("MatMul", ["obs", "v"], ["q"])]))


def test_one_infinite_number_may_be_a_bound_or_a_mask(tmp_path: Path) -> None:
    nodes = [NODE("MatMul", ["obs", "w"], ["y"]), NODE("Clip", ["y", "low"], ["q"])]
    core = load(tmp_path / "m.onnx", model_of(nodes, [constant("low", -np.inf)]))
    np.testing.assert_allclose(scores_of(core, OBS), OBS @ W, atol=1e-6)
    with pytest.raises(InputError, match="holds NaN"):
        load(tmp_path / "m.onnx", model_of(nodes, [constant("low", np.nan)]))
    nodes = [NODE("MatMul", ["obs", "w"], ["y"]), NODE("Add", ["y", "low"], ["q"])]
    with pytest.raises(InputError, match="gave NaN or infinity for an observation"):
        load(tmp_path / "m.onnx", model_of(nodes, [constant("low", -np.inf)]))


def endless_loop() -> Any:
    """A loop that never ends."""
    body = helper.make_graph(
        [NODE("Identity", ["go"], ["go_on"]), NODE("Identity", ["v"], ["v_out"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v_out", TensorProto.FLOAT, []),
        ],
    )
    return NODE("Loop", ["", "true", "zero"], ["x"], body=body)


def in_a_branch(node: Any) -> Any:
    """A node inside the branches of an If."""
    info = helper.make_tensor_value_info("x_in", TensorProto.FLOAT, [])
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    inner.output[0] = "x_in"
    branch = helper.make_graph([inner], "branch", [], [info])
    return NODE("If", ["true"], ["x"], then_branch=branch, else_branch=branch)


CONSTANTS = [constant("true", True, bool), constant("zero", 0.0)]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (endless_loop(), "uses the operator Loop, and only those of feed-forward networks are run"),
        (in_a_branch(endless_loop()), "uses the operator If"),
        (NODE("Scan", ["w"], ["x"], num_scan_inputs=1), "uses the operator Scan"),
        (NODE("Einsum", ["w"], ["x"], equation="ij->i"), "uses the operator Einsum"),
        (NODE("RandomNormal", [], ["x"], shape=[10**6, 10**6]), "operator RandomNormal"),
        (NODE("Relu", ["w"], ["x"], domain="own"), r"uses the operator own\.Relu"),
        (NODE("Gelu", ["w"], ["x"], domain="com.microsoft"), r"com\.microsoft\.Gelu"),
        (NODE("NoSuchOperator", ["w"], ["x"]), "uses the operator NoSuchOperator"),
        (NODE("a\nb\0", ["w"], ["x"]), r"uses the operator a b\?"),
    ],
)
def test_only_operators_of_feed_forward_networks_are_run(
    tmp_path: Path, node: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path / "m.onnx", model_of(plus_constant(node), CONSTANTS))
    assert "trust=True if it is your own" in str(caught.value)


def test_graph_hidden_in_an_attribute_of_an_allowed_operator_is_refused(tmp_path: Path) -> None:
    node = NODE("Relu", ["w"], ["x"], body=helper.make_graph([endless_loop()], "g", [], []))
    with pytest.raises(InputError, match="it has a graph inside of Relu"):
        load(tmp_path / "m.onnx", model_of(plus_constant(node), CONSTANTS))


def test_functions_of_the_file_are_refused(tmp_path: Path) -> None:
    opset = helper.make_opsetid("", 17)
    function = helper.make_function(
        "own", "Mine", ["a"], ["x"], [endless_loop()], [opset, helper.make_opsetid("own", 1)]
    )
    model = model_of(plus_constant(NODE("Mine", ["w"], ["x"], domain="own")), CONSTANTS)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(function)
    with pytest.raises(InputError, match="defines functions of its own"):
        load(tmp_path / "m.onnx", model)
    model = model_of([LINEAR])  # a function that replaces an operator of ONNX
    model.functions.append(helper.make_function("", "MatMul", ["a", "b"], ["x"], [], [opset]))
    with pytest.raises(InputError, match="defines functions of its own"):
        load(tmp_path / "m.onnx", model)


def test_other_files_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(W.tobytes())
    model = model_of([LINEAR])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="'w' is in another file, which is not opened"):
        load_core(tmp_path / "m.onnx", "CartPole-v1")
    core = load_core(tmp_path / "m.onnx", "CartPole-v1", trust=True)
    np.testing.assert_allclose(scores_of(core, OBS), OBS @ W, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.opset_import.pop(), "does not say which opset"),
        (lambda m: m.opset_import.add(domain="", version=9), "does not say which opset"),
        (lambda m: m.graph.initializer.append(constant("q", W)), "have the same name"),
        (lambda m: m.graph.sparse_initializer.add(), "holds sparse tensors"),
        (lambda m: m.graph.initializer[0].dims.append(10**9), "reshape|shape"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, -1), "another shape than it says"),
        (lambda m: m.graph.initializer[0].ClearField("raw_data"), "reshape|shape"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "no"), "'no' is used before"),
        (lambda m: m.graph.node[0].input.pop(), "cannot be read as an ONNX network"),
        (lambda m: m.graph.node[0].output.pop(), "cannot"),
        (lambda m: m.graph.ClearField("output"), "does not run on observations"),
        (lambda m: m.ClearField("graph"), "has the inputs nothing"),
        (
            lambda m: m.graph.initializer[0].CopyFrom(
                onnx.TensorProto(name="w", data_type=TensorProto.STRING, string_data=[b"x"])
            ),
            "'w' holds other things than numbers",
        ),
        (
            lambda m: m.graph.input[0].type.tensor_type.__setattr__("elem_type", 8),
            "takes other things than numbers",
        ),
    ],
)
def test_odd_graphs_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    model = model_of([LINEAR])
    change(model)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "m.onnx", model)


@pytest.mark.parametrize(
    "attribute", [{"group": 0}, {"strides": [0, 1]}, {"dilations": [1, 2**40]}, {"group": -1}]
)
def test_attributes_that_runtimes_divide_by_are_positive(
    tmp_path: Path, attribute: dict[str, Any]
) -> None:
    picture = constant("p", np.ones((1, 1, 4, 4)))
    kernel = constant("k", np.ones((1, 1, 2, 2)))
    node = NODE("Conv", ["p", "k"], ["x"], **attribute)
    with pytest.raises(InputError, match=r"Conv has (group|strides|dilations)"):
        load(tmp_path / "m.onnx", model_of(plus_constant(node), [picture, kernel]))


def test_graphs_with_too_many_nodes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "NODES", 2)
    write_model(tmp_path / "m.onnx", plus_constant(NODE("Relu", ["w"], ["x"])))
    with pytest.raises(InputError, match="it has 4 nodes, of which 2 are read"):
        load_core(tmp_path / "m.onnx", "CartPole-v1")


def test_pipe_or_folder_in_place_of_an_onnx_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "folder.onnx").mkdir()
    for trust in (False, True):
        for name, kind in (("pipe", "named pipe"), ("folder", "folder")):
            with pytest.raises(InputError, match=rf"{name}\.onnx is a {kind}"):
                load_core(tmp_path / f"{name}.onnx", "CartPole-v1", trust=trust)


def test_trusted_file_may_hold_anything(tmp_path: Path) -> None:
    branch = in_a_branch(NODE("ReduceSum", ["w"], ["x"], keepdims=0))
    model = model_of(plus_constant(branch), CONSTANTS)
    core = load(tmp_path / "m.onnx", model, trust=True)
    np.testing.assert_allclose(scores_of(core, OBS), OBS @ W + W.sum(), atol=1e-5)


def test_operators_exist() -> None:
    names = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    assert names >= OPERATORS
