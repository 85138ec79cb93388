"""A builder of ONNX graphs: nodes, constants and common combinations of them.

It uses operators of opset 13 only. onnxruntime has run them since version 1.6, and most other
runtimes do too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.errors import InputError

OPSET, IR_VERSION = 13, 7


def import_onnx() -> Any:
    """The module onnx, which is an optional dependency."""
    try:
        import onnx
        import onnx.numpy_helper
        import onnx.reference
        import onnx.shape_inference
    except ImportError:
        raise InputError("an ONNX file needs onnx: pip install policy-inertia[onnx]") from None
    return onnx


@dataclass
class GraphBuilder:
    """Nodes and constants of a graph.

    Every method adds nodes and returns the name of their result. Arguments that are strings are
    names of inputs or results.
    """

    onnx: Any = field(default_factory=import_onnx)
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add one node; `output` names its result, if the name matters."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Add an array of numbers."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(np.asarray(value, dtype))
        array = array.reshape(np.shape(value))  # ascontiguousarray gives a scalar an axis
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def tensor(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        """The description of an input or output; axes are numbers or names."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape)

    def integers(self, values: Any) -> str:
        """Add an array of integers; a range stands for the list of its numbers."""
        return self.constant([list(v) if isinstance(v, range) else v for v in values], np.int64)

    def cast(self, x: str, dtype: Any) -> str:
        """The same numbers as another type."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", x, to=kind)

    def as_float(self, x: str) -> str:
        return self.cast(x, np.float32)

    def column(self, x: str) -> str:
        """(B,) -> (B, 1)."""
        return self.add("Unsqueeze", x, self.integers([1]))

    def flat(self, x: str) -> str:
        """(B, 1) -> (B,)."""
        return self.add("Squeeze", x, self.integers([1]))

    def equals(self, column: str, n: int, first: int = 0) -> str:
        """Booleans (B, n): whether each integer of a column is `first`, `first` + 1, ..."""
        return self.add("Equal", column, self.integers([range(first, first + n)]))

    def one_hot(self, column: str, n: int, first: int = 0) -> str:
        """Rows of the identity, (B, n) float32, for a column of integers."""
        return self.as_float(self.equals(column, n, first))

    def best(self, x: str) -> str:
        """The index of the largest number in each row, as a column."""
        return self.add("ArgMax", x, axis=1, keepdims=1)

    def row_sum(self, x: str) -> str:
        """The sum of each row, as a column."""
        return self.add("ReduceSum", x, self.integers([1]), keepdims=1)

    def divided(self, x: str, divisor: float) -> str:
        return x if divisor == 1 else self.add("Div", x, self.constant(divisor))

    def log_softmax(self, x: str, temperature: float) -> str:
        return self.add("LogSoftmax", self.divided(x, temperature), axis=1)

    def log_add_exp(self, a: str, b: str) -> str:
        difference = self.add("Neg", self.add("Abs", self.add("Sub", a, b)))
        return self.add("Add", self.add("Max", a, b), self.add("Softplus", difference))
