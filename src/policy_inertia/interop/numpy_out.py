"""Export a policy as a list of NumPy operations, which `numpy_runtime.py` runs.

The list is the ONNX graph of the policy, with every operator written as NumPy functions. So rules
and filters are written once for both formats, and the runtime is short enough to be copied.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop import numpy_runtime
from policy_inertia.interop.description import PolicyDescription, describe, exported
from policy_inertia.interop.onnx_forms import form_of
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_observations import observation_type
from policy_inertia.interop.onnx_rules import PRICE
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.policy import Policy

Step = list[Any]
"""The name of a result, an operation of the runtime, and its inputs: names, or plain values."""


@dataclass
class StepBuilder(GraphBuilder):
    """The same calls as those that build an ONNX graph, as steps of the runtime."""

    onnx: Any = None
    steps: list[Step] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        if operator not in OPERATORS:
            raise InputError(
                f"a policy with the operator {operator} cannot be written for NumPy, which is for "
                "perceptrons: export it as ONNX"
            )
        result = OPERATORS[operator](self, inputs, attributes)
        return result if output is None else self.step("add", result, 0, output=output)

    def step(self, operation: str, *inputs: Any, output: str | None = None) -> str:
        """Add one step; return the name of its result."""
        output = output or f"step_{len(self.steps)}"
        self.steps.append([output, operation, *inputs])
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"constant_{len(self.arrays)}"
        self.arrays[name] = np.asarray(value, dtype)
        return name

    def cast(self, x: str, dtype: Any) -> str:
        return self.step(CASTS[np.dtype(dtype)], x)

    def integers_of(self, name: str) -> Any:
        """The integers that a constant holds, as JSON."""
        return self.arrays[name].tolist()

    def used(self, results: list[str]) -> list[Step]:
        """The steps that these results need."""
        needed, steps = set(results), []
        for step in reversed(self.steps):
            if step[0] in needed:
                steps.append(step)
                needed |= {x for x in step[2:] if isinstance(x, str)}
        return steps[::-1]


Operator = Callable[[StepBuilder, tuple[str, ...], dict[str, Any]], str]


def _same(operation: str) -> Operator:
    """An operator that NumPy has too; further inputs are taken one after the other."""

    def operator(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
        first, *others = inputs
        if len(inputs) < 3:
            return graph.step(operation, *inputs)
        for other in others:
            first = graph.step(operation, first, other)
        return first

    return operator


def _gemm(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    x, w, b = inputs
    return graph.step("add", graph.step("matmul", x, w), b)


def _divide(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    divisor = graph.arrays.get(inputs[1])
    whole = divisor is not None and divisor.dtype.kind == "i"
    return graph.step("floor_divide" if whole else "divide", *inputs)


def _sigmoid(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    half = graph.step("tanh", graph.step("multiply", inputs[0], 0.5))
    return graph.step("multiply", graph.step("add", half, 1), 0.5)


def _elu(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    (x,) = inputs
    below = graph.step("expm1", graph.step("minimum", x, 0))
    return graph.step("where", graph.step("greater", x, 0), x, below)


def _leaky_relu(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    (x,) = inputs
    return graph.step("maximum", x, graph.step("multiply", x, attributes["alpha"]))


def _clip(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    x, low, high = inputs
    return graph.step("minimum", graph.step("maximum", x, low), high)


def _sum(graph: StepBuilder, inputs: tuple[str, ...], attributes: dict[str, Any]) -> str:
    x, axes = inputs
    (axis,) = graph.integers_of(axes)
    return graph.step("sum", x, axis, None, None, bool(attributes["keepdims"]))


def _with_axis(operation: str) -> Operator:
    """An operator whose second input is a constant list of one axis."""
    return lambda graph, inputs, _: graph.step(
        operation, inputs[0], graph.integers_of(inputs[1])[0]
    )


OPERATORS: dict[str, Operator] = {
    "Abs": _same("absolute"),
    "Add": _same("add"),
    "And": _same("logical_and"),
    "ArgMax": lambda g, inputs, _: g.step("expand_dims", g.step("argmax", inputs[0], 1), 1),
    "Ceil": _same("ceil"),
    "Clip": _clip,
    "Concat": lambda g, inputs, attributes: g.step("join", attributes["axis"], *inputs),
    "Div": _divide,
    "Elu": _elu,
    "Equal": _same("equal"),
    "Exp": _same("exp"),
    "Expand": _same("broadcast_to"),
    "Flatten": lambda g, inputs, _: g.step("reshape", inputs[0], [1, -1]),
    "Gather": lambda g, inputs, attributes: g.step("take", *inputs, attributes.get("axis", 0)),
    "Gemm": _gemm,
    "Identity": lambda g, inputs, _: g.step("add", *inputs, 0),
    "Greater": _same("greater"),
    "GreaterOrEqual": _same("greater_equal"),
    "IsNaN": _same("isnan"),
    "LeakyRelu": _leaky_relu,
    "Less": _same("less"),
    "LessOrEqual": _same("less_equal"),
    "Log": _same("log"),
    "LogSoftmax": lambda g, inputs, _: g.step("subtract", *inputs, g.step("log_sum_exp", *inputs)),
    "MatMul": _same("matmul"),
    "Max": _same("maximum"),
    "Min": _same("minimum"),
    "Mod": _same("remainder"),
    "Mul": _same("multiply"),
    "Neg": _same("negative"),
    "Not": _same("logical_not"),
    "Or": _same("logical_or"),
    "ReduceSum": _sum,
    "Relu": lambda g, inputs, _: g.step("maximum", *inputs, 0),
    "Reshape": lambda g, inputs, _: g.step("reshape", inputs[0], g.integers_of(inputs[1])),
    "Shape": _same("shape"),
    "Sigmoid": _sigmoid,
    "Softplus": lambda g, inputs, _: g.step("logaddexp", *inputs, 0),
    "Sqrt": _same("sqrt"),
    "Squeeze": _with_axis("squeeze"),
    "Sub": _same("subtract"),
    "Tanh": _same("tanh"),
    "Unsqueeze": _with_axis("expand_dims"),
    "Where": lambda g, inputs, _: g.step("where", *inputs),
}
"""ONNX operators as steps of the runtime, from graph, inputs and attributes to a result."""


CASTS = {np.dtype(np.float32): "as_float", np.dtype(np.float64): "as_double"}
"""Types as steps of the runtime."""


@dataclass(frozen=True)
class ExportedNumpy:
    """The .npz file that was written."""

    path: Path
    steps: int

    def __str__(self) -> str:
        return f"{self.path}: {self.steps} steps; copy {numpy_runtime.__file__} to run it"


def export_numpy(
    policy: Policy | Core | ContinuousCore, path: str | os.PathLike[str]
) -> ExportedNumpy:
    """Write a policy, or a core whose network is known, for `numpy_runtime.py`.

    That file needs NumPy alone and may be copied. Actions are those of
    `predict(..., deterministic=True)`, up to ties within float rounding; continuous ones are the
    env's own.

    Args:
        policy: What to export; its networks must be perceptrons.
        path: Where to write it; must end in .npz.

    Raises:
        InputError: The policy cannot be exported.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in '{path.suffix}': a file of NumPy arrays ends in .npz")
    policy = exported(policy)
    switches = policy.spaces.actions.finite  # the price of movement is not an input
    dial = isinstance(policy, Policy) and policy.traits.dial and switches
    arrays, about = numpy_steps(describe(policy, dial))
    buffer = io.BytesIO()
    named: Any = {"about": np.array(json.dumps(about)), **arrays}
    np.savez_compressed(buffer, **named)
    make_folder(path.parent)
    write_file(path, buffer.getvalue())
    return ExportedNumpy(path, len(about["steps"]))


def numpy_steps(policy: PolicyDescription) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a policy, and its steps and memory as JSON."""
    graph = StepBuilder()
    if policy.controller is not None and policy.controller.price_input:  # `act` may change it
        graph.arrays[PRICE] = np.array([policy.controller.numbers["price"]], np.float32)
    form = form_of(policy)
    results = form.add(graph, policy)
    memory = {f.name: f.initial(1).tolist()[0] for f in policy.memory.fields}
    for name in memory:
        result = results["action" if name == PREVIOUS_ACTION else f"next_{name}"]
        graph.step("add", result, 0, output=f"next_{name}")
    steps = graph.used([f"next_{name}" for name in memory])
    used = {x for step in steps for x in step[2:] if isinstance(x, str)}
    about = {
        "steps": steps,
        "memory": memory,
        "observation": np.dtype(observation_type(policy.spaces)).name,
        "first_action": form.metadata(policy).get("first_action", 0),
    }
    return {name: array for name, array in graph.arrays.items() if name in used}, about
