import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular.two_way_mdp import BINS, mdp_from_counts, state_index, two_way


def test_observations_go_into_the_right_bins() -> None:
    # The ego drives in our lane (y = 4) at 30 m/s. There is a car 15 m ahead, one 60 m ahead in the
    # other lane, one behind, and one that is absent.
    observation = np.zeros((1, 5, 5))
    observation[0, 0] = [1, 100, 4, 30, 0]
    observation[0, 1] = [1, -5, 0, 0, 0]
    observation[0, 2] = [1, 15, 0, -5, 0]
    observation[0, 3] = [1, 60, -4, -50, 0]
    assert state_index(observation)[0] == np.ravel_multi_index((1, 2, 1, 1), BINS)
    observation[0, 0, 2:4] = 0, 20  # the ego in the other lane; positions are relative to it
    observation[0, 1:4, 2] = [4, 4, 0]
    assert state_index(observation)[0] == np.ravel_multi_index((0, 0, 1, 1), BINS)
    empty_road = np.zeros((1, 2, 5))
    empty_road[0, 0] = [1, 0, 4, 30, 0]
    assert state_index(empty_road)[0] == np.ravel_multi_index((1, 2, 4, 3), BINS)


def test_counts_become_shares_and_untried_actions_get_the_mean() -> None:
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0] = [1, 2, 1]  # nothing was tried in state 2, so transitions to it are dropped
    transitions[1, 1, 0] = 3
    ends = np.array([[0, 1], [0, 1], [0, 0.0]])
    rewards = np.array([[3, 2], [0, 4], [0, 0.0]])
    mdp = mdp_from_counts(transitions, ends, rewards, np.array([2.0, 2, 1]), 0.9)
    assert mdp.states == 2
    np.testing.assert_allclose(mdp.P[0, 0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(mdp.ends, [[0.0, 1.0], [0.25, 0.25]])
    np.testing.assert_allclose(mdp.P[1], [[0.75, 0.0], [0.75, 0.0]])
    np.testing.assert_allclose(mdp.R[1], [1, 1])
    np.testing.assert_allclose(mdp.rho, [0.5, 0.5])


def test_two_way_is_an_mdp_with_crashes_and_the_same_for_the_same_seed() -> None:
    one, two = (two_way(steps=60, envs=40, seed=3) for _ in range(2))
    assert np.array_equal(one.P, two.P)
    assert one.states > 20
    assert 0 < one.ends.mean() < 1
    assert one.R.min() >= 0
    assert one.R.max() <= 1
    assert one.actions == 5


def test_zero_steps_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        two_way(steps=0)
