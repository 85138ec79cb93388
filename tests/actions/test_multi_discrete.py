"""Actions with several heads."""

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions import kinds
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.multi_discrete import MultiDiscrete

SPACE = MultiDiscrete((3, 2), (0, 5))


def test_spaces_survive_json_and_are_read_from_gymnasium() -> None:
    assert kinds.from_gym(gym.spaces.MultiDiscrete([3, 2], start=[0, 5]), "an env") == SPACE
    assert kinds.from_dict(SPACE.to_dict()) == SPACE
    binary = kinds.from_gym(gym.spaces.MultiBinary(4), "an env")
    assert binary == MultiDiscrete((2,) * 4, (0,) * 4, binary=True)
    for several in (gym.spaces.MultiBinary((2, 2)), gym.spaces.MultiDiscrete(np.array([[2, 2]]))):
        with pytest.raises(InputError, match="its actions have several axes"):
            kinds.from_gym(several, "an env")
    with pytest.raises(InputError, match="expected 1 to 1,000 heads"):
        MultiDiscrete((3, 0), (0, 0))


def test_one_row_of_the_identity_for_each_head() -> None:
    actions = np.array([[2, 0], [0, 1], [-1, -1]])
    assert SPACE.encode(actions).tolist() == [[0, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0] * 5]
    assert SPACE.is_null(actions).tolist() == [False, False, True]
    assert SPACE.contains(np.array([[2, 1], [3, 0], [-1, -1]])).tolist() == [True, False, False]


def test_a_step_with_a_switch_costs_one_token() -> None:
    before, after = np.array([[0, 0], [0, 0], [0, 0], [-1, -1]]), np.array([[0, 0], [1, 0]] * 2)
    after[2] = [1, 1]
    assert SPACE.cost(before, after).tolist() == [0, TOKEN, TOKEN, 0]
    assert SPACE.distance(before[:3], after[:3]).tolist() == [0, 0.5, 1]


def test_env_counts_from_its_own_numbers() -> None:
    actions = SPACE.sample(np.random.default_rng(0), 50)
    there = SPACE.to_env(actions)
    assert (there[:, 1] >= 5).all()
    assert SPACE.read(there, 50, "it").tolist() == actions.tolist()
    for wrong in (np.array([[0, 4]]), np.array([[0.5, 5]]), np.array([[3, 5]])):
        with pytest.raises(InputError, match="so the action spaces differ"):
            SPACE.read(wrong, 1, "it")


def test_heads_are_independent() -> None:
    pi = np.array([[0.5, 0.3, 0.2, 0.9, 0.1]])
    heads = SPACE.distribution(np.log(pi))
    assert heads.mode().tolist() == [[0, 0]]
    assert heads.probability(np.array([[1, 0]])) == pytest.approx(0.27)
    many = SPACE.distribution(np.log(np.tile(pi, (20_000, 1)))).sample(np.random.default_rng(0))
    assert np.corrcoef(many.T)[0, 1] == pytest.approx(0, abs=0.03)
    assert (many[:, 1] == 1).mean() == pytest.approx(0.1, abs=0.01)
