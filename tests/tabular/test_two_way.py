import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular.two_way import BINS, _counted, aggregated, bins


def test_observations_go_into_the_bins_by_hand():
    # ego on our lane (y = 4) at 30 m/s; a car 15 m ahead of it, one 60 m ahead on the other lane,
    # one behind, one that is not there
    seen = np.zeros((1, 5, 5))
    seen[0, 0] = [1, 100, 4, 30, 0]
    seen[0, 1] = [1, -5, 0, 0, 0]
    seen[0, 2] = [1, 15, 0, -5, 0]
    seen[0, 3] = [1, 60, -4, -50, 0]
    assert bins(seen)[0] == np.ravel_multi_index((1, 2, 1, 1), BINS)
    seen[0, 0, 2:4] = 0, 20  # the ego on the other lane: what was 4 m left of it is off the road
    seen[0, 1:4, 2] = [4, 4, 0]
    assert bins(seen)[0] == np.ravel_multi_index((0, 0, 1, 1), BINS)
    alone = np.zeros((1, 2, 5))
    alone[0, 0] = [1, 0, 4, 30, 0]
    assert bins(alone)[0] == np.ravel_multi_index((1, 2, 4, 3), BINS)


def test_counts_become_shares_and_what_was_not_tried_the_mean():
    count = np.zeros((3, 2, 3))
    count[0, 0] = [1, 2, 1]  # state 2 is left by nothing, so the way there is forgotten
    count[1, 1, 0] = 3
    ended = np.array([[0, 1], [0, 1], [0, 0.0]])
    earned = np.array([[3, 2], [0, 4], [0, 0.0]])
    mdp = _counted(count, ended, earned, np.array([2.0, 2, 1]), 0.9)
    assert mdp.states == 2
    np.testing.assert_allclose(mdp.P[0, 0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(mdp.ends, [[0, 1], [0.25, 0.25]])
    np.testing.assert_allclose(mdp.P[1], [[0.75, 0], [0.75, 0]])
    np.testing.assert_allclose(mdp.R[1], [1, 1])
    np.testing.assert_allclose(mdp.rho, [0.5, 0.5])


def test_the_scene_is_an_mdp_with_crashes_and_is_the_same_again():
    one, two = (aggregated(steps=60, envs=40, seed=3) for _ in range(2))
    assert np.array_equal(one.P, two.P)
    assert one.states > 20
    assert 0 < one.ends.mean() < 1
    assert one.R.min() >= 0
    assert one.R.max() <= 1
    assert one.actions == 5


def test_no_steps_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        aggregated(steps=0)
