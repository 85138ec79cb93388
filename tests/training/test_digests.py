"""Same seed, same bits: the weights of short runs, as they were when they were first recorded.

Bits depend on the processor's vector instructions and on the versions of JAX and NumPy. Where they
differ from those that the digests were recorded with, the test is skipped and says so.
"""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.run_settings import override, settings
from policy_inertia.training.session import Session
from tests.support.classic import CLASSIC

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("digests.json").read_text())
SHORT = {"steps": 1_600, "envs": 8, "learning_starts": 200, "seed": 7}


def vector_instructions() -> list[str]:
    """What decides about the order of additions in compiled sums."""
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text().split()) if info.exists() else set()
    names = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16")
    return [platform.machine(), *(name for name in names if name in flags)]


def machine() -> dict[str, Any]:
    libraries = {name: version(name) for name in ("jax", "jaxlib", "numpy", "optax")}
    return {**libraries, "instructions": vector_instructions()}


def digest(tree: Any) -> str:
    """A digest of a pytree's arrays, whatever their names and order."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    each = sorted(
        hashlib.sha256(repr((x.shape, str(x.dtype))).encode() + x.tobytes()).hexdigest()
        for x in leaves
        if x.ndim
    )
    return hashlib.sha256("".join(each).encode()).hexdigest()[:16]


@pytest.mark.parametrize("run", RECORDED["weights"])
def test_weights_after_a_short_run_are_those_of_the_first_version(run: str) -> None:
    if machine() != RECORDED["machine"]:
        pytest.skip(f"recorded with {RECORDED['machine']}, and this is {machine()}")
    method, env, *scenario = run.split()
    kwargs = {"config": {"scenario": scenario[0]}} if scenario else {}
    config = settings(method, env, preset="paper", env_kwargs=kwargs, **SHORT)
    session = Session(override(config, CLASSIC if env == "CartPole-v1" else {}), env)
    while session.step < SHORT["steps"]:
        session.advance()
    session.envs.close()
    assert digest(session.learner.state) == RECORDED["weights"][run]
