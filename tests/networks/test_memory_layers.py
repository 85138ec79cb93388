"""Layers that remember, in NumPy, in files and in onnxruntime."""

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.interop.onnx_graph import IR_VERSION, OPSET, GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_layers import MEMORY_NODES, add_remembering
from policy_inertia.networks.layers import (
    Branch,
    Branches,
    Flatten,
    Layers,
    Linear,
    memory_shapes,
    output_shape,
    run,
    run_with_memory,
)
from policy_inertia.networks.memory_layers import FrameStack, Lstm, MemoryLayer
from policy_inertia.networks.stored_layers import restore, store

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def lstm(inputs: int, size: int) -> Lstm:
    return Lstm(numbers(inputs, 4 * size), numbers(size, 4 * size), numbers(4 * size))


NETWORKS: dict[str, tuple[Layers, tuple[int, ...]]] = {
    "lstm": ((lstm(3, 4), lstm(4, 2), Linear(numbers(2, 5), numbers(5))), (3,)),
    "vector": ((FrameStack(3, (2,), 0), Linear(numbers(6, 2), numbers(2))), (2,)),
    "channels last": ((FrameStack(2, (3, 3, 1), 2), Flatten()), (3, 3, 1)),
    "channels first": ((FrameStack(4, (1, 3, 3), 0), Flatten()), (1, 3, 3)),
}


def test_lstm_is_that_of_pytorch() -> None:
    import torch

    theirs = torch.nn.LSTM(3, 4)
    parts = {k: v.detach().numpy() for k, v in theirs.named_parameters()}
    bias = parts["bias_ih_l0"] + parts["bias_hh_l0"]
    ours = Lstm(parts["weight_ih_l0"].T, parts["weight_hh_l0"].T, bias)
    x = numbers(6, 5, 3)
    memory = {"hidden": np.zeros((5, 4), np.float32), "cell": np.zeros((5, 4), np.float32)}
    with torch.no_grad():
        expected = theirs(torch.as_tensor(x))[0].numpy()
    for t in range(6):
        y, memory = ours.step(x[t], memory)
        np.testing.assert_allclose(y, expected[t], atol=1e-6)


@pytest.mark.parametrize("name", list(NETWORKS))
def test_network_in_a_file_and_in_onnxruntime_remembers_the_same(name: str) -> None:
    layers, shape = NETWORKS[name]
    arrays, kinds = store(layers)
    layers = restore(arrays, json.loads(json.dumps(kinds)))
    graph = GraphBuilder()
    out, after = add_remembering(graph, layers, "x", "start")
    for output, result in {"y": out, **{f"next_{k}": v for k, v in after.items()}}.items():
        graph.add("Identity", result, output=output)
    helper = graph.onnx.helper
    shapes = memory_shapes(layers)
    memory = {k: np.zeros((4, *s), np.float32) for k, s in shapes.items()}
    tensors = [graph.tensor(k, np.float32, [4, *s]) for k, s in {"x": shape, **shapes}.items()]
    tensors.append(graph.tensor("start", np.bool_, [4, 1]))
    sizes = {"y": output_shape(layers, shape), **{f"next_{k}": s for k, s in shapes.items()}}
    outputs = [graph.tensor(k, np.float32, [4, *s]) for k, s in sizes.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "layers", tensors, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    running = session(Path("layers"), model.SerializeToString())
    start = np.array([[False], [True], [False], [False]])
    for step in range(5):
        x = numbers(4, *shape)
        feed = {"x": x, "start": start, **memory}
        theirs = dict(zip(sizes, running.run(list(sizes), feed), strict=True))
        for values in memory.values():
            values[1] = 0  # an episode begins there
        y, memory = run_with_memory(layers, x, memory)
        np.testing.assert_allclose(theirs["y"], y, atol=1e-5)
        np.testing.assert_allclose(run(layers, x)[1], y[1], atol=1e-6)
        assert step == 0 or abs(run(layers, x)[0] - y[0]).max() > 1e-3
        for key, values in memory.items():
            np.testing.assert_allclose(theirs[f"next_{key}"], values, atol=1e-5)


def test_every_layer_that_remembers_has_a_row() -> None:
    assert set(MEMORY_NODES) == set(get_args(MemoryLayer))


@pytest.mark.parametrize(
    "layer",
    [
        FrameStack(1, (2,), 0),
        FrameStack(10**9, (2,), 0),
        FrameStack(3, (2,), 1),
        FrameStack(3, (3,), 0),
        Lstm(numbers(2, 8), np.zeros(()), numbers(8)),
        Lstm(numbers(2, 8), numbers(2, 7), numbers(8)),
        Lstm(numbers(2), numbers(2, 8), numbers(8)),
    ],
)
def test_layer_that_does_not_fit_is_refused_before_it_runs(layer: Any) -> None:
    with pytest.raises(InputError, match="cannot take an input"):
        output_shape((layer,), (2,))


def test_branches_come_back_from_a_file_and_neither_branch_nor_remember() -> None:
    branches = Branches(
        (
            Branch(0, 4, (2, 2), (Flatten(), Linear(numbers(4, 3), numbers(3)))),
            Branch(4, 6, (2,), ()),
        )
    )
    arrays, kinds = store((branches,))
    again = restore(arrays, json.loads(json.dumps(kinds)))
    x = numbers(5, 6)
    np.testing.assert_array_equal(run(again, x), run((branches,), x))
    assert output_shape(again, (6,)) == (5,)
    for inner in ({"kind": "FrameStack", "n": 2, "shape": [2], "axis": 0}, {"kind": "Branches"}):
        part = {"start": 0, "stop": 2, "shape": [2], "layers": [inner]}
        with pytest.raises(InputError, match="is of kind"):
            restore({}, [{"kind": "Branches", "parts": [part]}])
