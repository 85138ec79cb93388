"""Tests compile the same few programs again and again: keep them for the session."""

import os
import signal
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

from policy_inertia.machine import use_one_thread  # noqa: E402

use_one_thread()

from tests.support.quick_compiler import quick_compiler  # noqa: E402, F401
from tests.support.sb3_models import make_model, sb3_model  # noqa: E402, F401


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c() -> None:
    """Take Ctrl-C, which a shell that starts the tests in the background makes them ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from policy_inertia import train
    from tests.support.runs import SHORT

    out = tmp_path_factory.mktemp("runs") / "run"
    train("sac", "CartPole-v1", out, **SHORT)
    return out


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DQN that has seen a little of Two-Way."""
    from policy_inertia import train

    out = tmp_path_factory.mktemp("runs") / "two-way"
    name = "policy_inertia/TwoWay-v0"
    train("dqn", name, out, steps=3_000, eval_every=1_500, eval_episodes=4, final_episodes=4)
    return out
