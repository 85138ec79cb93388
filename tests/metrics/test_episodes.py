from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy_inertia.actions.discrete import Discrete
from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import (
    Episode,
    oscillation_ratio,
    reversals,
    switch_matrix,
    switches,
)

actions = st.lists(st.integers(0, 4), min_size=1, max_size=30)


class Pairs(Discrete):
    """Actions of two numbers each; the second one does not matter."""

    shape = (2,)

    def equal(self, a: Any, b: Any) -> Any:
        return a[:, 0] == b[:, 0]


def test_oscillation_ratio_is_the_mean_over_episodes_of_switches_per_step() -> None:
    # by hand: 2 switches in 4 steps, 0 in 2, 1 in 3; a mean over steps would be 3 / 9
    episodes = [[0, 1, 1, 0], [3, 3], [2, 2, 1]]
    assert oscillation_ratio(episodes) == pytest.approx((2 / 4 + 0 / 2 + 1 / 3) / 3)


def test_reversals_count_there_and_back() -> None:
    assert reversals([0, 1, 0, 1, 2, 1, 1, 0]) == 3  # 0 1 0, 1 0 1, 1 2 1


def test_switch_matrix_counts_pairs_inside_episodes_only() -> None:
    counts = switch_matrix([[0, 1, 1, 2], [2, 0]], 3)
    assert counts.tolist() == [[0, 1, 0], [0, 1, 1], [1, 0, 0]]


def test_one_step_episode_does_not_oscillate() -> None:
    assert oscillation_ratio([[3]]) == 0
    assert reversals([3]) == 0


def test_oscillation_ratio_of_no_episodes_is_nan() -> None:
    assert np.isnan(oscillation_ratio([]))


@pytest.mark.parametrize("bad", [[], [[1, 2]], 3])
def test_sequence_without_actions_or_of_another_shape_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="at least one action of shape"):
        oscillation_ratio([bad])


def test_action_out_of_range_is_refused_by_the_switch_matrix() -> None:
    with pytest.raises(InputError, match="0 to 1"):
        switch_matrix([[0, 2]], 2)


def test_action_space_decides_whether_two_actions_are_equal() -> None:
    taken = np.array([[0, 0], [0, 5], [1, 5], [0, 7]])
    episode = Episode(0.0, taken, True, space=Pairs(2))
    assert (episode.switches, episode.reversals) == (2, 1)
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        switches([0, 1], Pairs(2))


@given(st.lists(actions, min_size=1, max_size=8))
def test_figures_agree_with_plain_loops(episodes: list[list[int]]) -> None:
    ratios, runs, steps = [], 0, 0
    for e in episodes:
        c = sum(e[t] != e[t - 1] for t in range(1, len(e)))
        ratios.append(c / len(e))
        runs += c + 1
        steps += len(e)
        assert switches(e) == switches(e, Discrete(5)) == c
        assert reversals(e) == sum(e[t] == e[t - 2] and e[t] != e[t - 1] for t in range(2, len(e)))
    assert oscillation_ratio(episodes) == pytest.approx(sum(ratios) / len(ratios))
    matrix = switch_matrix(episodes, 5)
    assert matrix.sum() == steps - len(episodes)
    assert matrix.sum() - np.trace(matrix) == runs - len(episodes)


@given(actions, st.permutations(range(5)))
def test_ratio_does_not_depend_on_the_numbers_of_the_actions(
    episode: list[int], numbers: list[int]
) -> None:
    renumbered = [numbers[a] for a in episode]
    assert oscillation_ratio([renumbered]) == oscillation_ratio([episode])
    assert 0 <= oscillation_ratio([episode]) < 1
