"""ONNX files with an action output, for envs with continuous actions."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from policy_inertia import InputError, load_core
from tests.support.chase import Chase
from tests.support.onnx_models import constant

W = np.array([[0.5, 0.1], [0.0, 0.3]], np.float32)
OBS = np.random.default_rng(0).uniform(-3, 3, (5, 2)).astype(np.float32)


def write(path: Path, outputs: tuple[str, ...], batch: Any = "batch", scale: float = 1) -> Path:
    """Each output is `obs @ W * scale`."""
    sizes = [batch, 2]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", f"w{i}"], [o]) for i, o in enumerate(outputs)],
        "g",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in outputs],
        [constant(f"w{i}", W * scale * (i + 1)) for i in range(len(outputs))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


@pytest.mark.parametrize("batch", ["batch", 1])
def test_action_output_is_read_as_rsl_rl_writes_it(tmp_path: Path, batch: Any) -> None:
    core = load_core(write(tmp_path / "policy.onnx", ("actions",), batch), Chase)
    np.testing.assert_allclose(core.predict(OBS)[0], OBS @ W, atol=1e-5)
    np.testing.assert_allclose(core.predict(OBS[0])[0], OBS[0] @ W, atol=1e-5)


def test_output_is_chosen_by_its_name_or_by_the_user(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.onnx", ("other", "action"), scale=0.5)
    np.testing.assert_allclose(load_core(path, Chase).predict(OBS)[0], OBS @ W, atol=1e-5)
    other = load_core(path, Chase, output_name="other")
    np.testing.assert_allclose(other.predict(OBS)[0], OBS @ W / 2, atol=1e-5)


def test_actions_beyond_their_bounds_are_refused_or_clipped(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.onnx", ("actions",), scale=100)
    with pytest.raises(InputError, match=r"policy.onnx gave .* of an action, and its bounds are"):
        load_core(path, Chase)
    core = load_core(path, Chase, clip=True)
    np.testing.assert_allclose(core.predict(OBS)[0], np.clip(100 * OBS @ W, -2, 2), atol=1e-4)


def test_outputs_that_do_not_say_which_is_the_action_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.onnx", ("a", "b"))
    with pytest.raises(InputError, match="which of them is an action of 2"):
        load_core(path, Chase)
    with pytest.raises(InputError, match="has no output 'c'"):
        load_core(path, Chase, output_name="c")
