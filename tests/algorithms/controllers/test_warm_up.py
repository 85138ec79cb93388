"""The warm-up: first every episode is watched, then the controller takes over."""

import numpy as np
import pytest

from policy_inertia.actions.discrete import Discrete
from policy_inertia.algorithms.controllers.warm_up import WarmUp


@pytest.mark.parametrize(
    ("step", "share"), [(0, 0.0), (1_000, 0.0), (1_500, 0.5), (2_000, 1.0), (9_000, 1.0)]
)
def test_share_of_episodes_of_the_controller_grows_after_the_warm_up(
    step: int, share: float
) -> None:
    warm_up = WarmUp(1_000, 0.1, Discrete(2))
    assert warm_up.controller_share(step) == share
    rng = np.random.default_rng(0)
    watched = np.mean([warm_up.watches(step, rng) for _ in range(2_000)])
    assert watched == pytest.approx(1 - share, abs=0.05)


def test_without_a_warm_up_nothing_is_watched_and_nothing_is_drawn() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert not WarmUp(0, 0.1, Discrete(2)).watches(0, rng)
    assert rng.bit_generator.state == before
