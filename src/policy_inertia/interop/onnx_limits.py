"""What a run of an ONNX file costs, known before it is run.

`RunLimits.check` follows the shapes of all tensors through the graph, one node at a time, for the
very batch that is to be run. Shapes that the graph computes are followed too, if they come from
constants and other shapes. A graph is refused whose shapes depend on observations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from policy_inertia.interop.foreign_files import shown
from policy_inertia.interop.onnx_file import SMALL, OnnxFile, Shape, Tensor

BYTES, BYTES_EACH = 256 * 2**20, 16 * 2**20
"""Bytes of all intermediate results of a run: for the whole batch, and for each observation."""
WORK, WORK_EACH = 10**10, 10**10
"""Multiply-adds of a run: for the whole batch, and for each observation."""
ELEMENT_COST = 16
"""Multiply-adds that reading or writing one element is counted as."""

Cost = Callable[[list[Shape], Shape, Any], float]


def _product_cost(a: int, b: int) -> Cost:
    """Multiply-adds of a matrix product of inputs `a` and `b`; exact without a batch of both."""
    return lambda ins, out, _: math.sqrt(math.prod(ins[a]) * math.prod(ins[b]) * math.prod(out))


def _convolution_cost(w: int) -> Cost:
    """Multiply-adds of a convolution whose input `w` holds the filters."""
    return lambda ins, out, _: math.prod(out) * math.prod(ins[w][1:])


def _pooling_cost(ins: list[Shape], out: Shape, node: Any) -> float:
    kernels = [list(a.ints) for a in node.attribute if a.name == "kernel_shape"]
    return math.prod(out) * math.prod(*kernels)


COSTS: dict[str, Cost] = {
    "MatMul": _product_cost(0, 1),
    "Gemm": _product_cost(0, 1),
    "MatMulInteger": _product_cost(0, 1),
    "QLinearMatMul": _product_cost(0, 3),
    "Conv": _convolution_cost(1),
    "ConvInteger": _convolution_cost(1),
    "QLinearConv": _convolution_cost(3),
    "MaxPool": _pooling_cost,
    "AveragePool": _pooling_cost,
}
"""Multiply-adds of operators that use an input several times for each output."""


class RunLimits:
    """Limits for the runs of a file; remembers the shapes of batches that keep them."""

    def __init__(self, file: OnnxFile) -> None:
        self.file, self.onnx = file, file.onnx
        self.checked: set[Shape] = set()

    def check(self, shape: Shape) -> None:
        """Check what a run costs for a batch of this shape.

        Raises:
            InputError: It needs too much memory or work, or the shape of one of its tensors
                depends on the observations.
        """
        if shape in self.checked:
            return
        n = shape[0] if shape else 1
        memory, work = BYTES + n * BYTES_EACH, float(WORK + n * WORK_EACH)
        with self.file.parsing():
            (given,) = self.file.inputs
            tensors = {
                **self.file.constants,
                given.name: Tensor(given.type.tensor_type.elem_type, shape),
            }
            for node in self.file.nodes:
                outs = self._outputs(node, tensors)
                memory -= sum(map(self._bytes, outs.values()))
                work -= self._work(node, tensors, outs)
                if memory < 0 or work < 0:
                    raise ValueError(
                        f"a run on {n} observations needs more than {BYTES + n * BYTES_EACH:,} "
                        f"bytes or {WORK + n * WORK_EACH:.0e} multiply-adds"
                    )
                outs = self._with_values(node, tensors, outs)
                self._refuse_empty(node, tensors, outs)
                tensors |= outs
        self.checked.add(shape)

    def _outputs(self, node: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """A node's outputs: their types and shapes."""
        names = {name for name in node.input if name}
        for name in names - set(tensors):
            raise ValueError(f"'{shown(name, 80)}' is used before it is computed")
        self._refuse_integer_division(node, tensors)
        helper, from_array = self.onnx.helper, self.onnx.numpy_helper.from_array
        inferred = self.onnx.shape_inference.infer_node_outputs(
            self.onnx.defs.get_schema(node.op_type, self.file.opset.version, ""),
            node,
            {k: helper.make_tensor_type_proto(tensors[k].kind, tensors[k].shape) for k in names},
            {k: from_array(v, k) for k in names if (v := tensors[k].values) is not None},
            opset_imports=[self.file.opset],
            ir_version=self.file.model.ir_version,
        )
        return {name: self._inferred(name, inferred[name]) for name in node.output if name}

    def _inferred(self, name: str, inferred: Any) -> Tensor:
        tensor = inferred.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
        if not tensor.HasField("shape") or min(dims, default=1) < 0:
            raise ValueError(f"the shape of '{shown(name, 80)}' is not known before it is run")
        if tensor.elem_type not in self.file.types:
            raise ValueError(f"'{shown(name, 80)}' holds other things than numbers")
        return Tensor(tensor.elem_type, tuple(dims))

    def _refuse_integer_division(self, node: Any, tensors: dict[str, Tensor]) -> None:
        """A division of integers by 0 would end the whole process."""
        if node.op_type not in ("Div", "Mod") or len(node.input) != 2:
            return
        divisor = tensors[node.input[1]]
        if self.file.dtype(divisor.kind).kind == "f":
            return
        if divisor.values is None or not (divisor.values > 0).all():
            raise ValueError(f"{node.op_type} divides integers by numbers that may be 0")

    def _refuse_empty(self, node: Any, tensors: dict[str, Tensor], outs: dict[str, Tensor]) -> None:
        """Some operators of onnxruntime end the process where a tensor has no elements.

        An empty list of integers may be a shape, and unused inputs of `Resize` are empty.
        """
        if node.op_type == "Constant" or all(out.values is not None for out in outs.values()):
            return
        names = node.input[:1] if node.op_type == "Resize" else node.input
        for tensor in (*(tensors[name] for name in names if name), *outs.values()):
            if 0 in tensor.shape:
                raise ValueError(f"{node.op_type} has a tensor without elements")

    def _bytes(self, tensor: Tensor) -> int:
        return math.prod(tensor.shape) * self.file.dtype(tensor.kind).itemsize

    def _work(self, node: Any, tensors: dict[str, Tensor], outs: dict[str, Tensor]) -> float:
        ins = [tensors[name].shape if name else (0,) for name in node.input]
        shapes = [out.shape for out in outs.values()]
        work = float(ELEMENT_COST * sum(map(math.prod, (*ins, *shapes))))
        return work + (COSTS[node.op_type](ins, shapes[0], node) if node.op_type in COSTS else 0)

    def _with_values(
        self, node: Any, tensors: dict[str, Tensor], outs: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """The outputs with their values, where these follow from shapes and constants.

        Only integers are computed, because the runtime must compute exactly the same. Real numbers
        are known if they are constants.
        """
        ins = {name: tensors[name] for name in node.input if name}
        if any(math.prod(out.shape) > SMALL for out in outs.values()):
            return outs
        values: list[Any] = []
        if node.op_type == "Shape":
            bounds = {a.name: a.i for a in node.attribute}
            shape = tensors[node.input[0]].shape[bounds.get("start", 0) : bounds.get("end")]
            values = [np.array(shape, np.int64)]
        elif node.op_type == "Size":
            values = [np.array(math.prod(tensors[node.input[0]].shape), np.int64)]
        elif all(tensor.values is not None for tensor in ins.values()) and (
            node.op_type == "Constant"
            or all(self.file.dtype(t.kind).kind != "f" for t in (*ins.values(), *outs.values()))
        ):
            function = self.onnx.helper.make_function(
                "policy_inertia", "f", list(ins), list(node.output), [node], [self.file.opset]
            )
            evaluator = self.onnx.reference.ReferenceEvaluator(function)
            values = evaluator.run(None, {k: tensor.values for k, tensor in ins.items()}, {})
        known = {k: np.asarray(v) for k, v in zip(node.output, values, strict=False) if k}
        return {k: out._replace(values=known.get(k)) for k, out in outs.items()}
