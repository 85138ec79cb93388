import gymnasium as gym
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia import InputError
from policy_inertia.actions import kinds
from policy_inertia.actions.discrete import Categorical, Discrete, split_choice
from policy_inertia.actions.space import select


def test_null_action_equals_only_itself_and_is_encoded_as_zeros() -> None:
    actions = Discrete(3)
    null, some = actions.null(3), np.array([0, 1, -1])
    assert actions.is_null(some).tolist() == [False, False, True]
    assert actions.equal(null, some).tolist() == [False, False, True]
    assert actions.encode(some).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("xp", [np, jnp])
def test_actions_are_encoded_alike_by_numpy_and_jax(xp: object) -> None:
    encoded = Discrete(4).encode(np.array([3, -1, 0]), xp)
    np.testing.assert_array_equal(encoded, [[0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]])


def test_distance_is_0_for_the_same_action_and_1_for_any_other() -> None:
    distance = Discrete(5).distance(np.array([0, 1, 4]), np.array([0, 2, 0]))
    assert distance.tolist() == [0, 1, 1]


def test_env_counts_from_its_first_action() -> None:
    actions = Discrete(3, first=5)
    assert actions.to_env(np.array([0, 2])).tolist() == [5, 7]
    assert actions.from_env([5, 7]).tolist() == [0, 2]
    assert actions.to_vector_env(np.array([1])) == [6]


def test_random_actions_are_uniform() -> None:
    counts = np.bincount(Discrete(4).sample(np.random.default_rng(0), 40_000))
    assert abs(counts - 10_000).max() < 5 * np.sqrt(40_000 * 3 / 16)


def test_choices_of_a_policy_that_also_picks_how_long_to_hold() -> None:
    assert Discrete(3, first=1).with_repeats((1,)) == Discrete(3, first=1)
    assert Discrete(3, first=1).with_repeats((1, 2, 4)) == Discrete(9)
    action, hold = split_choice(np.arange(6), (1, 4))
    assert (action.tolist(), hold.tolist()) == ([0, 0, 1, 1, 2, 2], [1, 4, 1, 4, 1, 4])


def test_distribution_gives_the_best_action_and_the_probability_of_any() -> None:
    policy = Categorical(np.log([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]))
    assert policy.mode().tolist() == [1, 0]
    np.testing.assert_allclose(policy.probability(np.array([2, 1])), [0.3, 0.3])


def test_select_takes_whole_actions_of_any_shape() -> None:
    mask = np.array([True, False])
    assert select(mask, np.array([1, 2]), np.array([3, 4])).tolist() == [1, 4]
    pairs = select(mask, np.ones((2, 3)), np.zeros((2, 3)))
    assert pairs.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_space_survives_json_and_other_kinds_are_refused() -> None:
    actions = kinds.from_gym(gym.spaces.Discrete(4, start=2), "an env")
    assert actions == Discrete(4, first=2) == kinds.from_dict(actions.to_dict())
    with pytest.raises(
        InputError, match=r"an env has the action space Text.*needs Discrete, Multi"
    ):
        kinds.from_gym(gym.spaces.Text(3), "an env")
