"""The recipe for a controller, followed literally."""

from pathlib import Path

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.methods import METHODS
from policy_inertia.run_settings import settings
from tests.support.recipes import Follow
from tests.support.runs import SHORT


def test_a_file_and_a_row_are_a_method_with_that_controller(follow: Follow, tmp_path: Path) -> None:
    follow("A controller", METHODS)
    policy = pi.train("sticky-dqn", "CartPole-v1", tmp_path / "run", mu=0.5, **SHORT)
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    core = policy.core().probabilities(obs)
    last = np.ones(50, int)
    expected = 0.5 * core + 0.5 * np.eye(2)[last]
    assert policy.probabilities(obs, last) == pytest.approx(expected, abs=1e-6)


def test_its_settings_are_flags_that_are_checked(follow: Follow) -> None:
    follow("A controller", METHODS)
    with pytest.raises(pi.InputError, match="mu is 2"):
        settings("sticky-dqn", "CartPole-v1", mu=2.0)
