"""XLA without its optimisations: it compiles in a tenth of the time, its programs run half as fast.

For tests that hold whatever the last bits are: mathematics up to rounding, two runs of one program,
files and messages. Tests of recorded bits, of two programs with the same bits, of host and device
alike, of memory and of long training keep the compiler that users have.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import jax
import pytest

SAME_PLAN: dict[str, int | bool] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""Options that change the machine code alone: the operations and their memory stay."""
OPTIONS = SAME_PLAN | {"xla_cpu_use_fusion_emitters": False}


@contextmanager
def quickly_compiled() -> Iterator[None]:
    """Compile what calls `jax.jit` within the block without optimisations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "jit", partial(jax.jit, compiler_options=OPTIONS))
        yield


@pytest.fixture
def quick_compiler() -> Iterator[None]:
    """Compile what the test calls without optimisations."""
    with quickly_compiled():
        yield
