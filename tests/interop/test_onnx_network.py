"""Perceptrons in ONNX files with continuous actions: read as layers, saved and exported."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from policy_inertia import ContinuousCore, Exponential, export, export_c, load_core
from policy_inertia.interop.onnx_network import READERS
from tests.support.arm import compare_box
from tests.support.c_policies import CBoxPolicy, needs_compiler
from tests.support.chase import Chase
from tests.support.onnx_box_policy import OnnxBoxPolicy
from tests.support.onnx_models import constant

RNG = np.random.default_rng(0)
OBS = RNG.uniform(-3, 3, (40, 2)).astype(np.float32)
CONSTANTS = {
    "mean": [0.1, -0.2],
    "std": [[1.5, 0.5]],
    "w1": RNG.normal(0, 1, (8, 2)),
    "b1": RNG.normal(0, 1, 8),
    "w2": RNG.normal(0, 0.5, (8, 2)),
    "b2": [[0.3, -0.3]],
    "two": 2.0,
    "zero": 0.0,
    "low": -1.5,
    "high": 1.75,
}
Node = tuple[str, list[str], dict[str, Any]]

RSL_RL: list[Node] = [
    ("Sub", ["mean"], {}),
    ("Div", ["std"], {}),
    ("Gemm", ["w1", "b1"], {"transB": 1}),
    ("Elu", [], {"alpha": 1.0}),
    ("Gemm", ["w2"], {}),
    ("Tanh", [], {}),
]
"""A normaliser, a hidden layer and an output, as rsl_rl exports them."""


def write(path: Path, nodes: list[Node], swap: tuple[str, ...] = ()) -> Path:
    """A chain of nodes from `obs` to `actions`; the constant of those in `swap` comes first."""
    chain, name = [], "obs"
    for i, (operator, constants, attributes) in enumerate(nodes):
        output = "actions" if i == len(nodes) - 1 else f"t{i}"
        inputs = [name, *constants]
        inputs = inputs[::-1] if operator in swap else inputs
        chain.append(helper.make_node(operator, inputs, [output], **attributes))
        name = output
    used = {x for _, constants, _ in nodes for x in constants}
    sizes: list[str | int | None] = ["batch", 2]
    graph = helper.make_graph(
        chain,
        "g",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, sizes)],
        [constant(name, value) for name, value in CONSTANTS.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def loaded(path: Path, clip: bool = False, **options: Any) -> tuple[ContinuousCore, ContinuousCore]:
    """The core of a file as layers, and as onnxruntime runs it."""
    core = load_core(path, Chase, clip=clip, **options)
    return core, load_core(path, Chase, clip=clip, trust=True, **options)


CHAINS: dict[str, list[Node]] = {
    "rsl_rl": RSL_RL,
    "matrix products": [
        ("MatMul", ["w2t"], {}),
        ("Add", ["b1"], {}),
        ("Relu", [], {}),
        ("MatMul", ["w2"], {}),
        ("Add", ["b2"], {}),
        ("Clip", ["low", "high"], {}),
    ],
    "scaled": [
        ("Mul", ["std"], {}),
        ("Flatten", [], {"axis": 1}),
        ("Gemm", ["w1"], {"transB": 1}),
        ("LeakyRelu", [], {"alpha": 0.01}),
        ("Identity", [], {}),
        ("Gemm", ["w2", "b2"], {}),
        ("Sigmoid", [], {}),
        ("Mul", ["two"], {}),
    ],
}
CONSTANTS["w2t"] = np.asarray(CONSTANTS["w1"]).T.copy()


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_known_operators_are_read_as_layers(name: str, tmp_path: Path) -> None:
    for swap in ((), ("Add", "Mul")):
        path = write(tmp_path / "policy.onnx", CHAINS[name], swap)
        statistics = ([0.5, 0.0], [1.0, 0.25])
        for core, theirs in (loaded(path), loaded(path, True, normalise=statistics)):
            assert core.layers is not None
            assert theirs.layers is None
            obs = OBS.copy()
            np.testing.assert_allclose(core.predict(obs)[0], theirs.predict(OBS)[0], atol=1e-5)
            np.testing.assert_array_equal(obs, OBS)


def test_every_reader_is_among_these_chains() -> None:
    assert {operator for chain in CHAINS.values() for operator, *_ in chain} == set(READERS)


@needs_compiler
def test_file_of_others_is_saved_filtered_and_exported(tmp_path: Path) -> None:
    core, _ = loaded(write(tmp_path / "policy.onnx", RSL_RL))
    core.with_filter(Exponential(0.3)).save(tmp_path / "calm.safetensors")
    policy = ContinuousCore.load(tmp_path / "calm.safetensors").with_limit(0.05, 0.3)
    file = OnnxBoxPolicy(export(policy, tmp_path / "calm.onnx").path)
    compare_box(policy, Chase(), 2, file.act, file.reset, lambda name: file.memory[name][0])
    copy = CBoxPolicy(export_c(policy, tmp_path / "calm.c").path, policy.actions.env_shape)
    compare_box(policy, Chase(), 2, copy.act, copy.reset, copy.memory)


@pytest.mark.parametrize(
    ("nodes", "swap"),
    [
        ([("Tanh", [], {})], ()),  # would change the observations themselves
        (
            [("Gemm", ["w1"], {"transB": 1}), ("Elu", [], {"alpha": 0.5}), ("MatMul", ["w2"], {})],
            (),
        ),
        ([("MatMul", ["w2t"], {}), ("MatMul", ["w2"], {}), ("Softsign", [], {})], ()),
        ([("Sub", ["mean"], {}), ("Tanh", [], {})], ("Sub",)),  # mean - obs
        ([("Mul", ["zero"], {}), ("Add", ["b2"], {})], ()),
        ([("Gemm", ["w2t"], {"alpha": 0.5}), ("MatMul", ["w2"], {}), ("Tanh", [], {})], ()),
    ],
)
def test_whatever_else_is_run_by_onnxruntime(
    nodes: list[Node], swap: tuple[str, ...], tmp_path: Path
) -> None:
    core, theirs = loaded(write(tmp_path / "policy.onnx", nodes, swap), clip=True)
    assert core.layers is None
    np.testing.assert_allclose(core.predict(OBS)[0], theirs.predict(OBS)[0])


@pytest.mark.filterwarnings("ignore")  # of PyTorch, about its own exporter
def test_network_that_pytorch_exported_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Normaliser(torch.nn.Module):  # type: ignore[name-defined]
        """rsl_rl's EmpiricalNormalization."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.tensor([[0.1, -0.2]]))
            self.register_buffer("std", torch.tensor([[1.0, 2.0]]))

        def forward(self, x: Any) -> Any:
            return (x - self.mean) / (self.std + 0.01)

    hidden = [torch.nn.Linear(2, 16), torch.nn.ELU(), torch.nn.Linear(16, 16), torch.nn.ELU()]
    net = torch.nn.Sequential(Normaliser(), *hidden, torch.nn.Linear(16, 2)).eval()
    path = tmp_path / "policy.onnx"
    names: dict[str, Any] = {"input_names": ["obs"], "output_names": ["actions"]}
    torch.onnx.export(net, torch.zeros(1, 2), str(path), dynamo=False, **names)
    core, _ = loaded(path, clip=True)
    assert core.layers is not None
    expected = net(torch.tensor(OBS)).detach().numpy()
    np.testing.assert_allclose(core.predict(OBS)[0], np.clip(expected, -2, 2), atol=1e-5)


def test_two_paths_are_not_taken_for_one(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.onnx", RSL_RL)
    model = onnx.load(path)
    last = model.graph.node[-1]
    model.graph.node.append(helper.make_node("Add", [last.input[0], "squashed"], ["sum"]))
    model.graph.node.append(helper.make_node("Tanh", ["sum"], ["actions"]))
    last.output[0] = "squashed"
    onnx.save(model, str(path))
    core, theirs = loaded(path)
    assert core.layers is None
    np.testing.assert_allclose(core.predict(OBS)[0], theirs.predict(OBS)[0])
