"""Small ONNX files, good and bad, around one input `obs` and one output `q`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def constant(name: str, value: Any, dtype: Any = np.float32) -> Any:
    """An initialiser."""
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def model_of(nodes: Sequence[Any], constants: Sequence[Any] = (), opset: int = 17) -> Any:
    """A model with the input `obs` (batch, 4), the output `q` and the constant `w` (4, 2)."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("q", TensorProto.FLOAT, ["batch", 2])],
        [constant("w", W), *constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def write_model(path: Path, nodes: Sequence[Any], constants: Sequence[Any] = ()) -> Path:
    """The file of `model_of`."""
    onnx.save(model_of(nodes, constants), str(path))
    return path


def plus_constant(*nodes: Any) -> list[Any]:
    """`q` = `obs @ w` + the sum of the tensor `x`, which `nodes` compute."""
    return [
        *nodes,
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("MatMul", ["obs", "w"], ["y"]),
        helper.make_node("Add", ["y", "total"], ["q"]),
    ]
