"""The parts of a C file."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.interop.c_code import CodeBuilder, comment_text, literal
from tests.support.c_policies import compile_c, needs_compiler


@needs_compiler
def test_numbers_come_back_bit_by_bit(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 3_000, np.uint32)
    floats = np.concatenate(
        [bits.view(np.float32), np.array([0, -0.0, 1, 1e-45, 3.4028235e38], np.float32)]
    )
    floats = floats[np.isfinite(floats)]
    doubles = np.random.default_rng(1).normal(0, 1, 200) ** 9
    code = CodeBuilder("")
    code.add_array("floats", floats)
    code.add_array("doubles", doubles)
    functions = (
        "const float *get_floats(void);\nconst float *get_floats(void) { return floats; }\n"
        "const double *get_doubles(void);\nconst double *get_doubles(void) { return doubles; }\n"
    )
    (tmp_path / "numbers.c").write_text("\n".join([*code.arrays, functions]))
    library = ctypes.CDLL(str(compile_c(tmp_path / "numbers.c", "-shared", "-fPIC")))
    for name, expected in (("get_floats", floats), ("get_doubles", doubles)):
        getattr(library, name).restype = ctypes.c_void_p
        data = ctypes.string_at(getattr(library, name)(), expected.nbytes)
        assert data == expected.tobytes()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(InputError, match="only finite numbers can act"):
        literal(np.float32(number))


def test_comment_holds_harmless_letters_only() -> None:
    every = "".join(map(chr, range(0x250))) + "\u2028\u202e"
    assert set(comment_text("*/" + every)) <= set(map(chr, range(32, 127))) - set("*/\\?\"'")
    assert comment_text("nsac on policy_inertia/TwoWay-v0") == "nsac on policy_inertia_TwoWay-v0"
    assert len(comment_text("x" * 10_000)) == 100
