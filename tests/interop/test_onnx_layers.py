"""Layers in onnxruntime, beside NumPy."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from policy_inertia.interop.onnx_graph import IR_VERSION, OPSET, GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_layers import ACTIVATION_NODES, LAYER_NODES, add_network
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    Branch,
    Branches,
    ChannelsFirst,
    ChannelsLast,
    Conv,
    Flatten,
    Layers,
    Linear,
    OneHot,
    PlainLayer,
    Rescale,
    run,
)

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def run_in_onnxruntime(layers: Layers, x: np.ndarray) -> np.ndarray:
    graph = GraphBuilder()
    graph.add("Identity", add_network(graph, layers, "x"), output="y")
    helper = graph.onnx.helper
    inputs = [graph.tensor("x", x.dtype, list(x.shape))]
    outputs = [graph.tensor("y", np.float32, list(run(layers, x.copy()).shape))]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "layers", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return session(Path("layers"), model.SerializeToString()).run(["y"], {"x": x})[0]


@pytest.mark.parametrize(
    ("layers", "x"),
    [
        ((Linear(numbers(4, 3), numbers(3)),), numbers(5, 4)),
        ((Conv(numbers(6, 3, 4, 2), numbers(6), 2),), numbers(5, 3, 9, 8)),
        ((ChannelsFirst(),), numbers(5, 4, 3, 2)),
        ((ChannelsLast(),), numbers(5, 4, 3, 2)),
        ((Flatten(),), numbers(5, 4, 3, 2)),
        ((Rescale(numbers(4), abs(numbers(4)) + 1),), numbers(5, 4)),
        ((Rescale(numbers(4), abs(numbers(4)) + 1, 0.5),), numbers(5, 4)),
        (
            (
                Branches(
                    (
                        Branch(0, 4, (2, 2), (Flatten(), Linear(numbers(4, 3), numbers(3)))),
                        Branch(4, 6, (2,), ()),
                    )
                ),
            ),
            numbers(5, 6),
        ),
        ((OneHot(4, 2),), np.array([2, 5, 3, 2])),
        *(((Activation(name),), 3 * numbers(5, 4)) for name in ACTIVATIONS),
    ],
    ids=lambda value: type(value[0]).__name__ if isinstance(value, tuple) else "",
)
def test_layer_returns_what_numpy_returns(layers: Layers, x: np.ndarray) -> None:
    expected = run(layers, x.copy())
    np.testing.assert_allclose(run_in_onnxruntime(layers, x), expected, rtol=1e-5, atol=1e-5)


def test_every_layer_and_every_activation_has_a_row() -> None:
    assert set(LAYER_NODES) == set(get_args(PlainLayer))
    assert set(ACTIVATION_NODES) == set(ACTIVATIONS)
