"""The cost of an ONNX file is known before it is run."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from policy_inertia import InputError, load_core
from policy_inertia.interop import onnx_limits
from policy_inertia.interop.onnx_file import OnnxFile
from policy_inertia.interop.onnx_limits import ELEMENT_COST, RunLimits
from tests.support.cores import scores_of
from tests.support.onnx_models import W, constant, model_of, plus_constant, write_model

NODE = helper.make_node
OBS = np.ones((3, 4), np.float32)
MANY = 10**6


def integers(name: str, *values: int) -> Any:
    return constant(name, values, np.int64)


COLUMN, ROW = constant("column", np.ones((2**15, 1))), constant("row", np.ones((1, 2**15)))
DOUBLED = [NODE("Concat", [f"x{i}"] * 2, [f"x{i + 1}"], axis=0) for i in range(40)]


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        ([NODE("ConstantOfShape", ["shape"], ["x"])], [integers("shape", MANY, MANY)]),
        ([NODE("Expand", ["w", "shape"], ["x"])], [integers("shape", 100 * MANY, 4, 2)]),
        ([NODE("Tile", ["w", "repeats"], ["x"])], [integers("repeats", MANY, MANY)]),
        (
            [NODE("Range", ["a", "b", "c"], ["i"]), NODE("Cast", ["i"], ["x"], to=1)],
            [constant(n, v, np.int64) for n, v in (("a", 0), ("b", 10**12), ("c", 1))],
        ),
        ([NODE("Pad", ["w", "pads"], ["x"])], [integers("pads", 0, 0, 10**9, 0)]),
        (
            [NODE("Resize", ["p", "", "scales"], ["x"])],
            [constant("p", np.ones((1, 1, 2, 2))), constant("scales", [1, 1, MANY, MANY])],
        ),
        (
            [NODE("OneHot", ["i", "depth", "values"], ["x"])],
            [integers("i", 0, 1), integers("depth", 10**10), constant("values", [0, 1])],
        ),
        ([NODE("MatMul", ["column", "row"], ["x"])], [COLUMN, ROW]),
        ([NODE("Add", ["column", "row"], ["x"])], [COLUMN, ROW]),
        ([NODE("Identity", ["w"], ["x0"]), *DOUBLED, NODE("Relu", ["x40"], ["x"])], []),
        (
            [
                NODE("ConstantOfShape", ["shape"], ["square"]),
                *[NODE("MatMul", ["square", "square"], [f"x{i}"]) for i in range(2)],
                NODE("Add", ["x0", "x1"], ["x"]),
            ],
            [integers("shape", 2**12, 2**12)],
        ),
        (
            [
                *[NODE("ReduceSum", ["w", ""], [f"x{i}"], keepdims=0) for i in range(3)],
                NODE("Conv", ["p", "k"], ["x"]),
            ],
            [constant("p", np.ones((1, 64, 300, 300))), constant("k", np.ones((64, 64, 100, 100)))],
        ),
    ],
)
def test_small_files_with_huge_runs_are_refused(
    tmp_path: Path, nodes: list[Any], constants: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_limits, "BYTES", 2**26)
    path = write_model(tmp_path / "m.onnx", plus_constant(*nodes), constants)
    with pytest.raises(InputError, match="a run on 8 observations needs more than"):
        load_core(path, "CartPole-v1")


@pytest.mark.parametrize(
    "nodes",
    [
        [NODE("Cast", ["obs"], ["i"], to=7), NODE("ReduceMax", ["i"], ["n"], keepdims=0)],
        [NODE("NonZero", ["obs"], ["i"])],
    ],
)
def test_shapes_that_depend_on_observations_are_refused(tmp_path: Path, nodes: list[Any]) -> None:
    nodes = [*nodes, NODE("Range", ["zero", "n", "one"], ["r"]), NODE("Cast", ["r"], ["x"], to=1)]
    constants = [constant("zero", 0, np.int64), constant("one", 1, np.int64)]
    path = write_model(tmp_path / "m.onnx", plus_constant(*nodes), constants)
    with pytest.raises(InputError, match=r"of 'r' is not known before it is run|operator NonZero"):
        load_core(path, "CartPole-v1")


def test_every_size_of_a_batch_is_checked(tmp_path: Path) -> None:
    """A tensor has (9 - n) * 2**25 elements: few for the 8 observations with which it is tried."""
    nodes = [
        NODE("Shape", ["obs"], ["s"]),
        NODE("Gather", ["s", "zero"], ["n"]),
        NODE("Sub", ["nine", "n"], ["d"]),
        NODE("Mul", ["d", "many"], ["rows"]),
        NODE("ConstantOfShape", ["rows"], ["x"]),
    ]
    constants = [integers("zero", 0), integers("nine", 9), integers("many", 2**25)]
    path = write_model(tmp_path / "m.onnx", plus_constant(*nodes), constants)
    core = load_core(path, "CartPole-v1")
    with pytest.raises(InputError, match="a run on 3 observations needs more than"):
        core.scores(OBS)


def test_shapes_that_the_graph_computes_are_followed(tmp_path: Path) -> None:
    """What torch writes for x.view(len(x), 2, -1), for expand and for zeros(len(x), 3)."""
    nodes = [
        NODE("Shape", ["obs"], ["s"]),
        NODE("Gather", ["s", "zero"], ["n"], axis=0),
        NODE("Unsqueeze", ["n", "axis"], ["n1"]),
        NODE("Concat", ["n1", "rest"], ["target"], axis=0),
        NODE("Reshape", ["obs", "target"], ["r"]),
        NODE("Equal", ["target", "minus"], ["is_minus"]),
        NODE("Where", ["is_minus", "two", "target"], ["full"]),
        NODE("Div", ["full", "two"], ["half"]),
        NODE("Mul", ["half", "two"], ["full2"]),
        NODE("Expand", ["one", "full"], ["ones"]),
        NODE("Add", ["r", "ones"], ["r1"]),
        NODE("Flatten", ["r1"], ["f"]),
        NODE("MatMul", ["f", "w"], ["q"]),
    ]
    constants = [
        constant("zero", 0, np.int64),
        integers("axis", 0),
        integers("rest", 2, -1),
        integers("minus", -1),
        integers("two", 2),
        constant("one", 1.0),
    ]
    core = load_core(write_model(tmp_path / "m.onnx", nodes, constants), "CartPole-v1")
    np.testing.assert_allclose(scores_of(core, OBS), (OBS + 1) @ W, atol=1e-5)


@pytest.mark.parametrize("operator", ["Div", "Mod"])
@pytest.mark.parametrize("divisor", [0, -1, None])
def test_integers_are_divided_by_positive_constants_only(
    tmp_path: Path, operator: str, divisor: int | None
) -> None:
    """onnxruntime ends the process where the smallest integer is divided by -1."""
    nodes = [
        NODE("Cast", ["obs"], ["i"], to=7),
        NODE(operator, ["i", "i" if divisor is None else "d"], ["j"]),
        NODE("Cast", ["j"], ["x"], to=1),
    ]
    path = write_model(tmp_path / "m.onnx", plus_constant(*nodes), [integers("d", divisor or 0)])
    with pytest.raises(InputError, match=f"{operator} divides integers by numbers that may be 0"):
        load_core(path, "CartPole-v1")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            NODE("LayerNormalization", ["empty", "obs"], ["x"], axis=-2),
            "LayerNormalization has a tensor without elements",
        ),
        (NODE("LayerNormalization", ["s", "obs"], ["x"], axis=2**31), "has axis"),
        (NODE("GatherND", ["w", "i"], ["x"], batch_dims=-1), "GatherND has batch_dims"),
        (NODE("Split", ["w"], ["x"], num_outputs=2, axis=1), "Split has 1 outputs of 2"),
    ],
)
def test_nodes_on_which_the_libraries_end_the_process_are_refused(
    tmp_path: Path, node: Any, message: str
) -> None:
    constants = [constant("empty", np.zeros((0, 1, 4, 2))), constant("i", [[0]], np.int64)]
    constants.append(constant("s", 1.0))
    onnx.save(model_of(plus_constant(node), constants, opset=20), str(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=message):
        load_core(tmp_path / "m.onnx", "CartPole-v1")


def test_names_without_values_are_no_inputs(tmp_path: Path) -> None:
    nodes = [NODE("MatMul", ["obs", "w"], ["y"]), NODE("Clip", ["y", "", "high"], ["q"])]
    core = load_core(
        write_model(tmp_path / "m.onnx", nodes, [constant("high", 0.1)]), "CartPole-v1"
    )
    np.testing.assert_allclose(scores_of(core, OBS), np.minimum(OBS @ W, 0.1), atol=1e-6)


def test_work_of_a_network_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        NODE("MatMul", ["obs", "a"], ["h"]),
        NODE("Gemm", ["h", "b", ""], ["g"]),
        NODE("Identity", ["g"], ["q"]),
    ]
    constants = [constant("a", np.ones((4, 100))), constant("b", np.ones((100, 2)))]
    file = OnnxFile(write_model(tmp_path / "m.onnx", nodes, constants))
    multiply_adds = 8 * 4 * 100 + 8 * 100 * 2
    elements = (32 + 400 + 800) + (800 + 200 + 16) + (16 + 16)
    work = multiply_adds + ELEMENT_COST * elements
    monkeypatch.setattr(onnx_limits, "WORK_EACH", 0)
    monkeypatch.setattr(onnx_limits, "WORK", work + 1)
    RunLimits(file).check((8, 4))
    monkeypatch.setattr(onnx_limits, "WORK", work - 1)
    with pytest.raises(InputError, match="a run on 8 observations needs more than"):
        RunLimits(file).check((8, 4))


def test_file_that_fails_while_it_runs_is_refused(tmp_path: Path) -> None:
    """An index that is computed from the observation may lie outside."""
    nodes = [
        NODE("Cast", ["obs"], ["i"], to=7),
        NODE("Gather", ["w", "i"], ["g"]),
        NODE("ReduceMean", ["g"], ["q"], axes=[1], keepdims=0),
    ]
    path = write_model(tmp_path / "m.onnx", nodes)
    core = load_core(path, "CartPole-v1", output="q")
    with pytest.raises(InputError, match="does not run on observations of shape") as caught:
        core.scores(100 * OBS)
    assert len(str(caught.value).splitlines()) == 1


def test_checked_bytes_are_what_is_run(tmp_path: Path) -> None:
    """A field that the module onnx does not know is not passed on to the runtime."""
    path = tmp_path / "m.onnx"
    model = model_of([NODE("MatMul", ["obs", "w"], ["q"])])
    unknown = b"\xfa\x3f\x03abc"  # field 1023
    path.write_bytes(model.SerializeToString() + unknown)
    data = OnnxFile(path).data()
    assert b"abc" not in data
    again = onnx.ModelProto.FromString(data)
    assert (numpy_helper.to_array(again.graph.initializer[0]) == W).all()


def test_runtime_cannot_take_the_file_for_another_format(tmp_path: Path) -> None:
    """With these bytes in their place, onnxruntime would read a file in its own format."""
    path = tmp_path / "m.onnx"
    model = model_of([NODE("MatMul", ["obs", "w"], ["q"])])
    model.producer_name = "ORTM"
    onnx.save(model, str(path))
    assert OnnxFile(path).data()[4:8] == b"ORTM"
    np.testing.assert_allclose(scores_of(load_core(path, "CartPole-v1"), OBS), OBS @ W, atol=1e-6)
