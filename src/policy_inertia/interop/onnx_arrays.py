"""Results of a graph with NumPy's operators, so that functions on arrays can be exported.

A filter of continuous actions is a function on float64 arrays `(n, k)`. Called with such a result,
it adds the nodes of its own arithmetic. So a filter is written once, for Python and for files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from policy_inertia.errors import InputError
from policy_inertia.interop.onnx_graph import GraphBuilder

UFUNCS: dict[Any, str] = {
    np.absolute: "Abs",
    np.add: "Add",
    np.ceil: "Ceil",
    np.divide: "Div",
    np.equal: "Equal",
    np.greater: "Greater",
    np.isnan: "IsNaN",
    np.less_equal: "LessOrEqual",
    np.maximum: "Max",
    np.minimum: "Min",
    np.multiply: "Mul",
    np.subtract: "Sub",
}
"""NumPy's functions of numbers as ONNX operators."""


class GraphArray(NDArrayOperatorsMixin):
    """A result `(batch, width)` of float64 or booleans; an operation on it adds a node."""

    def __init__(self, graph: GraphBuilder, name: str, width: int) -> None:
        self.graph, self.name, self.width = graph, name, width

    @property
    def shape(self) -> tuple[int, int]:
        """One row stands for any number of rows."""
        return 1, self.width

    def __len__(self) -> int:
        return 1

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> GraphArray:
        if ufunc not in UFUNCS or method != "__call__" or options:
            raise _unknown(f"numpy.{ufunc.__name__}")
        return self._add(UFUNCS[ufunc], *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function not in FUNCTIONS or options:
            raise _unknown(f"numpy.{function.__name__}")
        return FUNCTIONS[function](self, *inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy asks whether there are such
            raise AttributeError(name)
        raise _unknown(f"ndarray.{name}")

    def mean(self, axis: int, keepdims: bool) -> GraphArray:
        """The mean of each row, as a column."""
        assert (axis, keepdims) == (1, True), "only the mean of a row"
        return self.row_sum() / self.width

    def row_sum(self) -> GraphArray:
        """The sum of each row, as a column."""
        return GraphArray(self.graph, self.graph.row_sum(self.name), 1)

    def columns(self, places: np.ndarray) -> GraphArray:
        """Some of the columns, in this order."""
        if places.tolist() == list(range(self.width)):
            return self
        name = self.graph.add("Gather", self.name, self.graph.integers(places.tolist()), axis=1)
        return GraphArray(self.graph, name, len(places))

    def with_columns(self, places: np.ndarray, values: GraphArray) -> GraphArray:
        """The same with other values in some of the columns."""
        order = np.arange(self.width)
        order[places] = self.width + np.arange(len(places))
        if min(order) == self.width:
            return values.columns(order - self.width)
        both = self.graph.add("Concat", self.name, values.name, axis=1)
        return GraphArray(self.graph, both, self.width + len(places)).columns(order)

    def _add(self, operator: str, *inputs: Any) -> GraphArray:
        names, widths = [], [1]
        for value in inputs:
            if not isinstance(value, GraphArray):
                value = as_result(self.graph, value)
            names.append(value.name)
            widths.append(value.width)
        return GraphArray(self.graph, self.graph.add(operator, *names), max(widths))


def as_result(graph: GraphBuilder, value: Any) -> GraphArray:
    """A number or an array as a constant of the graph; a result as it is."""
    if isinstance(value, GraphArray):
        return value
    array = np.atleast_2d(value)
    dtype = np.bool_ if array.dtype == np.bool_ else np.float64
    return GraphArray(graph, graph.constant(array, dtype), array.shape[1])


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.clip: lambda self, x, low, high: np.minimum(np.maximum(x, low), high),
    np.where: lambda self, condition, a, b: self._add("Where", condition, a, b),
    np.zeros_like: lambda self, x: np.zeros(x.shape),
}
"""NumPy's functions of arrays, from a result and their arguments to a result or an array."""


def _unknown(name: str) -> InputError:
    return InputError(
        f"the policy's filter uses {name}, which cannot be exported: use the functions that the "
        "filters of policy-inertia use"
    )
