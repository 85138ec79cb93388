"""Networks as C functions, beside the NumPy functions that they repeat."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.interop.c_code import CodeBuilder
from policy_inertia.interop.c_layers import ACTIVATION_CODE, add_network, refuse_layers
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    Conv,
    Flatten,
    Layer,
    Layers,
    Linear,
    Rescale,
    run,
)
from tests.support.c_policies import compile_c, needs_compiler

RNG = np.random.default_rng(0)


def linear(inputs: int, outputs: int) -> Linear:
    return Linear(
        RNG.normal(0, 1, (inputs, outputs)).astype(np.float32),
        RNG.normal(0, 1, outputs).astype(np.float32),
    )


def run_c(layers: Layers, x: np.ndarray, folder: Path) -> np.ndarray:
    """Compile a network and run it on rows of a flat input."""
    code = CodeBuilder("")
    size = add_network(code, "network", layers, "const float *x", x.shape[1:])
    wrapper = "void call(const float *x, float *y);\nvoid call(const float *x, float *y)\n"
    wrapper += "{\n    network(x, y);\n}\n"
    parts = ["#include <math.h>", "#include <stdint.h>", *code.arrays, *code.helpers.values()]
    (folder / "network.c").write_text("\n\n".join([*parts, *code.functions, wrapper]))
    library = ctypes.CDLL(str(compile_c(folder / "network.c", "-shared", "-fPIC")))
    pointer = ctypes.POINTER(ctypes.c_float)
    rows = []
    for row in x:
        y = np.zeros(size, np.float32)
        given = np.ascontiguousarray(row, np.float32)
        library.call(given.ctypes.data_as(pointer), y.ctypes.data_as(pointer))
        rows.append(y)
    return np.array(rows)


def check(layers: list[Layer], folder: Path, shape: tuple[int, ...] = (5,)) -> None:
    x = RNG.normal(0, 2, (50, *shape)).astype(np.float32)
    expected = run(tuple(layers), x.copy()).reshape(50, -1)
    np.testing.assert_allclose(run_c(tuple(layers), x, folder), expected, rtol=2e-5, atol=2e-6)


@needs_compiler
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_the_same_function(name: str, tmp_path: Path) -> None:
    check([linear(5, 7), Activation(name), linear(7, 6), Activation(name)], tmp_path)


def test_every_activation_has_its_row() -> None:
    assert set(ACTIVATION_CODE) == set(ACTIVATIONS)


@needs_compiler
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_networks_of_any_depth_share_two_buffers(depth: int, tmp_path: Path) -> None:
    check([linear(5, 5) for _ in range(depth)], tmp_path)


@needs_compiler
def test_statistics_are_applied_in_their_own_precision(tmp_path: Path) -> None:
    mean, std = 1e6 + RNG.normal(0, 1, (3, 2)), RNG.uniform(0.5, 2, (3, 2))
    layers: list[Layer] = [Rescale(mean, std, 1.5), Flatten(), linear(6, 3)]
    x = (mean + RNG.normal(0, 3, (50, 3, 2))).astype(np.float32)
    expected = run(tuple(layers), x)
    np.testing.assert_allclose(run_c(tuple(layers), x, tmp_path), expected, rtol=2e-5, atol=2e-6)
    check([Rescale(np.full((), 3, np.float32), np.full((), 255, np.float32)), Flatten()], tmp_path)


@needs_compiler
@pytest.mark.parametrize("layers", [[Flatten()], [Flatten(), Activation("Tanh")]])
def test_network_without_weights_leaves_its_input_alone(
    layers: list[Layer], tmp_path: Path
) -> None:
    check(layers, tmp_path)


def test_other_layers_are_refused() -> None:
    conv = Conv(np.zeros((1, 1, 2, 2), np.float32), np.zeros(1, np.float32), 1)
    with pytest.raises(InputError, match="the layer Conv cannot be written as C"):
        refuse_layers((conv,))
    with pytest.raises(InputError, match="the layer Activation cannot be written as C"):
        refuse_layers((Activation("x); system(1"),))
