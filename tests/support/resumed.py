"""Stop a run in memory, restore it, and compare what both do afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from policy_inertia.run_settings import RunConfig
from policy_inertia.training.session import Session


def resumed_alike(config: RunConfig, env: Any, folder: Path) -> Session:
    """Check that a restored run goes on with the same bits; return the run.

    Args:
        config: The settings.
        env: The env.
        folder: What messages call the checkpoint.
    """
    session, resumed = Session(config, env), Session(config, env)
    for _ in range(20):
        session.advance()
    arrays, state = session.state()
    records: Any = session.replay.state()
    arrays, records = {k: np.array(v) for k, v in arrays.items()}, records.copy()
    assert resumed.restore(arrays, records, state, folder)
    for _ in range(10):
        session.advance()
        resumed.advance()
    np.testing.assert_array_equal(session.replay.state(), resumed.replay.state())
    leaves = (jax.tree.leaves(run.learner.state) for run in (session, resumed))
    for ours, theirs in zip(*leaves, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return session
