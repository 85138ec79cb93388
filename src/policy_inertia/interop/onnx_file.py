"""ONNX files of other programs: read, and refused unless all that they hold is allowed.

A file may hold a feed-forward network: operators of `OPERATORS` and constants. They have no loops
and no branches, call no code of other people and open no files. What is left to be checked is the
size of the tensors: see `onnx_limits`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.interop.foreign_files import parsing, refuse_not_finite, shown
from policy_inertia.interop.onnx_graph import import_onnx
from policy_inertia.storage import read_file

FILE_LIMIT = 2**30
"""Bytes of a file."""
NODES = 10_000
"""Nodes of a graph."""
SMALL = 4096
"""Elements of a constant whose values are kept, because it may be a shape."""

_NAMES = """
Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast CastLike Ceil Celu Clip Concat
Constant ConstantOfShape Conv ConvInteger Cos CumSum DepthToSpace DequantizeLinear Div Dropout
DynamicQuantizeLinear Elu Equal Erf Exp Expand EyeLike Flatten Floor Gather GatherElements
GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GroupNormalization
HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LayerNormalization
LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization MatMul MatMulInteger Max MaxPool Mean
Min Mish Mod Mul Neg Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear
RMSNormalization Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round
ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Size Slice Softmax Softplus Softsign
SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh ThresholdedRelu Tile TopK Transpose Trilu
Unsqueeze Where Xor
"""
OPERATORS = frozenset(_NAMES.split())
"""Operators whose cost follows from the shapes of their inputs and outputs."""
DOMAINS = ("", "ai.onnx")
TYPES = (
    *("FLOAT", "DOUBLE", "FLOAT16", "BOOL"),
    *("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
)
"""Types of tensors, by ONNX's names."""
AXES = 64
BOUNDS = {
    **dict.fromkeys(("strides", "dilations", "kernel_shape", "group", "blocksize"), (1, 2**31)),
    **dict.fromkeys(("num_groups", "num_outputs"), (1, 2**31)),
    **dict.fromkeys(("pads", "output_padding"), (-(2**31), 2**31)),
    **dict.fromkeys(("axis", "axes"), (-AXES, AXES)),
    **dict.fromkeys(("perm", "batch_dims"), (0, AXES)),
}
"""Bounds of attributes; outside, some runtimes divide by 0 or read outside of their memory."""

Shape = tuple[int, ...]


class Tensor(NamedTuple):
    """What is known of a tensor before a run."""

    kind: int
    """The type of its elements, by ONNX's number."""
    shape: Shape
    values: np.ndarray | None = None
    """The values, if the tensor is small and they follow from the file alone."""


class OnnxFile:
    """A file whose contents are allowed.

    Attributes:
        path: The file.
        onnx: The module.
        model: The contents, without fields that the module does not know.
        nodes: The nodes of its graph.
        opset: The version of the operators, as the file states it.
        types: The numbers of `TYPES`.
        constants: Its constants by name.
        inputs: Its inputs.
    """

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            InputError: It is damaged, or holds something that is not allowed.
        """
        self.path, self.onnx = path, import_onnx()
        data = read_file(path, FILE_LIMIT)
        with self.parsing():
            self.model = self.onnx.ModelProto.FromString(data)
            self.model.DiscardUnknownFields()
            self.nodes = list(self.model.graph.node)
            self.types = {self.onnx.TensorProto.DataType.Value(name) for name in TYPES}
            self._check_structure()
            for node in self.nodes:
                self._check_node(node)
            constants = self.model.graph.initializer
            self.constants = {t.name: self._constant(t, t.name) for t in constants}
            self.inputs = [i for i in self.model.graph.input if i.name not in self.constants]

    def parsing(self) -> Any:
        """The guard for everything that reads the contents; see `foreign_files.parsing`."""
        advice = (
            "export it again as a plain feed-forward network, or give trust=True if it is your own"
        )
        return parsing(self.path, "an ONNX network", advice)

    def data(self) -> bytes:
        """The contents as they were checked, for the runtime."""
        return bytes(self.model.SerializeToString())

    def dtype(self, kind: int) -> np.dtype[Any]:
        """NumPy's type for ONNX's number of a type."""
        return np.dtype(self.onnx.helper.tensor_dtype_to_np_dtype(kind))

    def _check_structure(self) -> None:
        model, graph = self.model, self.model.graph
        opsets = [o for o in model.opset_import if o.domain in DOMAINS]
        if len(opsets) != 1:
            raise ValueError("it does not say which opset it uses")
        self.opset = opsets[0]
        if model.functions:
            raise ValueError("it defines functions of its own, so inline them with onnx.inliner")
        if graph.sparse_initializer or model.training_info:
            raise ValueError("it holds sparse tensors or a training graph")
        if len(self.nodes) > NODES:
            raise ValueError(f"it has {len(self.nodes):,} nodes, of which {NODES:,} are read")
        names = [o for node in self.nodes for o in node.output if o]
        names += [t.name for t in graph.initializer]
        if len(set(names)) < len(names):
            raise ValueError("two of its tensors have the same name")

    def _check_node(self, node: Any) -> None:
        if node.domain not in DOMAINS or node.op_type not in OPERATORS:
            name = f"{node.domain}.{node.op_type}".removeprefix(".")
            raise ValueError(
                f"it uses the operator {shown(name, 60)}, and only those of feed-forward networks "
                "are run: no loops, no branches, no operators of other domains"
            )
        kinds = self.onnx.AttributeProto
        for attribute in node.attribute:
            if attribute.type in (kinds.GRAPH, kinds.GRAPHS) or attribute.ref_attr_name:
                raise ValueError(f"it has a graph inside of {node.op_type}")
            if attribute.type == kinds.TENSOR:
                self._constant(attribute.t, node.output[0] if node.output else "")
            values = [attribute.i] if attribute.type == kinds.INT else attribute.ints
            low, high = BOUNDS.get(attribute.name, (-(2**63), 2**63))
            if not all(low <= value <= high for value in values):
                raise ValueError(f"{node.op_type} has {attribute.name} {shown(values, 60)}")
            if attribute.name == "num_outputs" and attribute.i != len(node.output):
                raise ValueError(f"{node.op_type} has {len(node.output)} outputs of {attribute.i}")

    def _constant(self, tensor: Any, name: str) -> Tensor:
        """A tensor of the file, which must be in the file itself and be finite."""
        if tensor.external_data or tensor.data_location != self.onnx.TensorProto.DEFAULT:
            raise ValueError(f"'{shown(name, 80)}' is in another file, which is not opened")
        if tensor.data_type not in self.types:
            raise ValueError(f"'{shown(name, 80)}' holds other things than numbers")
        array = self.onnx.numpy_helper.to_array(tensor)
        if array.shape != tuple(tensor.dims):
            raise ValueError(f"'{shown(name, 80)}' has another shape than it says")
        # one infinite number may be a bound or a mask; as a weight it shows in the output
        if array.size != 1 or np.isnan(array).any():
            refuse_not_finite({name: array}, self.path)
        return Tensor(tensor.data_type, array.shape, array if array.size <= SMALL else None)
