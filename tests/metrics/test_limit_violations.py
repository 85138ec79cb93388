"""The count of violations against the slow and exact one of the tests."""

import numpy as np
import pytest

from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.limit_violations import count_violations
from tests.support.switch_counter import violations

LIMITS = [(0.0, 1), (0.1, 1), (0.3, 1.5), (0.05, 2), (0.5, 4), (1.0, 1)]


def episode(actions: list[int]) -> Episode:
    return Episode(0.0, np.array(actions), False)


@pytest.mark.parametrize(("rate", "burst"), LIMITS)
def test_switches_that_end_a_stretch_with_too_many_are_counted(rate: float, burst: float) -> None:
    rng = np.random.default_rng(0)
    for share in (0.05, 0.2, 0.6):
        actions = np.cumsum(rng.random(60) < share).tolist()
        slow = violations(actions, [(rate, burst)] * len(actions))
        ends = {last for _, last, _ in slow}
        assert count_violations([episode(actions)], rate, burst) == len(ends)


def test_limit_that_is_just_kept_is_not_violated() -> None:
    three_in_ten = [0, 1, *[1] * 8, 2, *[2] * 9, 3]  # switches at the steps 1, 10 and 20
    assert count_violations([episode(three_in_ten)], 0.1, 1) == 0
    assert count_violations([episode([0, 1, 0])], 0.1, 1) == 1
    assert count_violations([episode([0, 1, 0])] * 2, 0.1, 1) == 2
    assert count_violations([episode([0])], 0.0, 1) == 0
