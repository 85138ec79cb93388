import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import (
    Episode,
    mean_dwell,
    oscillation_ratio,
    reversal_ratio,
    reversals,
    summarise,
    switch_matrix,
    switches,
)

actions = st.lists(st.integers(0, 4), min_size=1, max_size=30)


def test_oscillation_ratio_is_the_mean_over_episodes_of_switches_per_step():
    # by hand: 2 switches in 4 steps, 0 in 2, 1 in 3; a mean over steps would be 3 / 9
    episodes = [[0, 1, 1, 0], [3, 3], [2, 2, 1]]
    assert oscillation_ratio(episodes) == pytest.approx((2 / 4 + 0 / 2 + 1 / 3) / 3)


def test_reversals_count_there_and_back():
    assert reversals([0, 1, 0, 1, 2, 1, 1, 0]) == 3  # 0 1 0, 1 0 1, 1 2 1
    assert reversal_ratio([[0, 1, 0], [0, 1, 2]]) == pytest.approx((1 / 3 + 0) / 2)


def test_mean_dwell_is_steps_per_run_of_one_action():
    assert mean_dwell([[0, 0, 0, 1], [2, 2]]) == pytest.approx(6 / 3)


def test_switch_matrix_counts_pairs_inside_episodes_only():
    counts = switch_matrix([[0, 1, 1, 2], [2, 0]], 3)
    assert counts.tolist() == [[0, 1, 0], [0, 1, 1], [1, 0, 0]]


def test_one_step_episode_does_not_oscillate():
    assert oscillation_ratio([[3]]) == 0
    assert reversals([3]) == 0
    assert mean_dwell([[3]]) == 1


def test_no_episodes_have_no_ratio():
    assert np.isnan(oscillation_ratio([]))
    assert np.isnan(mean_dwell([]))
    assert np.isnan(summarise([])["return"])


@pytest.mark.parametrize("bad", [[], [[1, 2]], 3])
def test_what_is_no_episode_is_refused(bad):
    with pytest.raises(InputError, match="one-dimensional"):
        oscillation_ratio([bad])


def test_unknown_action_is_refused_by_the_switch_matrix():
    with pytest.raises(InputError, match="0 to 1"):
        switch_matrix([[0, 2]], 2)


def test_crash_rate_is_told_only_where_the_env_tells():
    quiet = Episode(1.0, np.array([0]), True)
    assert summarise([quiet])["crash_rate"] is None
    told = [Episode(1.0, np.array([0]), True, crashed=c) for c in (True, False, False, False)]
    assert summarise([*told, quiet])["crash_rate"] == 0.25
    assert summarise(told)["termination_rate"] == 1


@given(st.lists(actions, min_size=1, max_size=8))
def test_figures_agree_with_plain_loops(episodes):
    ratios, runs, steps = [], 0, 0
    for e in episodes:
        c = sum(e[t] != e[t - 1] for t in range(1, len(e)))
        ratios.append(c / len(e))
        runs += c + 1
        steps += len(e)
        assert switches(e) == c
        assert reversals(e) == sum(e[t] == e[t - 2] and e[t] != e[t - 1] for t in range(2, len(e)))
    assert oscillation_ratio(episodes) == pytest.approx(sum(ratios) / len(ratios))
    assert mean_dwell(episodes) == pytest.approx(steps / runs)
    matrix = switch_matrix(episodes, 5)
    assert matrix.sum() == steps - len(episodes)
    assert matrix.sum() - np.trace(matrix) == runs - len(episodes)


@given(actions, st.permutations(range(5)))
def test_ratio_does_not_depend_on_the_actions_names(episode, names):
    renamed = [names[a] for a in episode]
    assert oscillation_ratio([renamed]) == oscillation_ratio([episode])
    assert 0 <= oscillation_ratio([episode]) < 1
