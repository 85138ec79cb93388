"""A run of a second, and a port where nobody listens."""

import socket
from typing import Any

import pytest

TINY: dict[str, Any] = {
    "preset": "paper",  # small networks
    "steps": 64,
    "eval_every": 32,
    "eval_episodes": 1,
    "final_episodes": 1,
    "learning_starts": 16,
    "checkpoint_seconds": 0,
}


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
