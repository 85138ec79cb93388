from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import numpy as jnp

from policy_inertia import InputError
from policy_inertia.actions import kinds
from policy_inertia.actions.box import Box, Point
from policy_inertia.actions.bucket import TOKEN

ARM = Box((0, -2), (1, 2), (2,))
NAN = float("nan")
START, ONES = np.array([0, 1], np.float32), np.ones(2, np.float32)


def test_actions_are_scaled_to_minus_1_and_1() -> None:
    np.testing.assert_allclose(ARM.from_env([[0, 2], [0.75, 0]]), [[-1.0, 1.0], [0.5, 0.0]])
    np.testing.assert_allclose(ARM.to_env(np.array([[-1, 1], [0.5, 0]])), [[0.0, 2.0], [0.75, 0.0]])
    assert ARM.to_env(np.zeros((3, 2))).dtype == np.float32


@settings(deadline=None, max_examples=50)
@given(
    low=st.floats(-100, 100, width=32),
    size=st.floats(0.125, 100, width=32),
    share=st.floats(0, 1),
)
def test_float32_survives_scaling_there_and_back(low: float, size: float, share: float) -> None:
    low, high = float(np.float32(low)), float(np.float32(low + size))
    space = Box((low,), (high,), (1,))
    action = np.clip(np.array([[low + share * (high - low)]], np.float32), low, high)
    again = space.to_env(space.from_env(action))
    np.testing.assert_allclose(again, action, rtol=0, atol=1e-12 * (abs(low) + abs(high)))
    assert low <= again[0, 0] <= high


def test_actions_of_any_shape_are_rows_inside_and_keep_their_type_outside() -> None:
    space = kinds.from_gym(gym.spaces.Box(-1, 1, (2, 3), np.float64), "an env")
    rows = space.from_env(np.arange(12).reshape(2, 2, 3) / 12)
    assert rows.shape == (2, 6)
    assert space.to_env(rows).shape == (2, 2, 3)
    assert space.to_env(rows).dtype == np.float64
    np.testing.assert_array_equal(space.to_env(rows).ravel(), np.arange(12) / 12)


def test_null_action_equals_only_itself_and_no_action_is_encoded_like_it() -> None:
    null, some = ARM.null(3), np.array([[0, 0], [NAN, NAN], [-1, 1]])
    assert ARM.is_null(some).tolist() == [False, True, False]
    assert ARM.equal(null, some).tolist() == [False, True, False]
    assert ARM.close(null, some).tolist() == [False, True, False]
    assert ARM.distance(null, some).tolist() == [1, 0, 1]
    assert ARM.contains(some).tolist() == [True, False, True]
    assert ARM.encode(some).tolist() == [[0, 0, 1], [0, 0, 0], [-1, 1, 1]]


@pytest.mark.parametrize("xp", [np, jnp])
def test_actions_are_encoded_alike_by_numpy_and_jax(xp: Any) -> None:
    encoded = ARM.encode(xp.array([[0.5, -1], [NAN, NAN]]), xp)
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded, [[0.5, -1, 1], [0, 0, 0]])


def test_distance_is_the_share_of_the_range_and_a_token_pays_for_all_of_it() -> None:
    a, b = np.array([[-1, -1], [0, 0], [0, 0]]), np.array([[1, 1], [1, 0], [0, 0]])
    assert ARM.distance(a, b).tolist() == [1, 0.25, 0]
    assert ARM.cost(a, b).tolist() == [TOKEN, TOKEN // 4, 0]
    assert ARM.cost(ARM.null(3), b).tolist() == [0, 0, 0]
    assert ARM.cost(a[1:2], a[1:2] + 1e-12).tolist() == [1]  # rounded up: nothing is free


def test_small_moves_count_as_none_but_are_not_equal() -> None:
    a = np.zeros((2, 2))
    b = np.array([[0.02, 0.0], [0.021, 0.0]])  # 1% and 1.05% of the range
    assert ARM.close(a, b).tolist() == [True, False]
    assert ARM.equal(a, b).tolist() == [False, False]


def test_random_actions_fill_the_box() -> None:
    actions = ARM.sample(np.random.default_rng(0), 10_000)
    assert actions.shape == (10_000, 2)
    assert abs(actions.mean(0)).max() < 0.05
    assert abs(actions.var(0) - 1 / 3).max() < 0.02


def test_space_survives_json() -> None:
    space = kinds.from_gym(gym.spaces.Box(np.float32(-0.3), np.float32(0.7), (3,)), "an env")
    assert space == kinds.from_dict(space.to_dict())
    assert str(space) == "Box of shape (3,) from -0.3 to 0.7"


@pytest.mark.parametrize(
    ("space", "says"),
    [
        (gym.spaces.Box(-np.inf, np.inf, (2,)), "number 0 .* has no lower and no upper bound"),
        (gym.spaces.Box(-1, np.inf, (2,)), "number 0 .* has no upper bound"),
        (gym.spaces.Box(-3e38, 1, (2,)), "number 0 .* has no lower bound"),
        (gym.spaces.Box(0, 255, (2,), np.uint8), "type uint8: .* float32 or float64"),
        (gym.spaces.Box(0, 1, (2, 0)), "1 to 100,000 numbers"),
        (
            gym.spaces.Box(START, ONES),
            "number 1 .* goes from 1 to 1",
        ),
    ],
)
def test_boxes_that_cannot_be_used_are_refused_in_one_sentence(space: Any, says: str) -> None:
    with pytest.raises(InputError, match=f"an env has the action space Box.*{says}") as caught:
        kinds.from_gym(space, "an env")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([[0.5, NAN]], "my policy gave nan as number 1 of an action: expected finite"),
        ([[np.inf, 0.0]], "my policy gave inf as number 0"),
        ([[0.5, 2.1]], "gave 2.1 as number 1 of an action, and its bounds are -2 and 2: clip"),
        ([[0.5]], r"shape \(1, 1\) for 1 observations: expected \(1, 2\)"),
        ([["a", "b"]], "expected numbers"),
    ],
)
def test_bad_actions_of_a_policy_are_refused_in_one_sentence(values: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        ARM.read(np.array(values), 1, "my policy")


def test_rounding_beyond_a_bound_is_no_error() -> None:
    assert ARM.from_env(np.array([[1.0000001, 2.0000002]], np.float32)).tolist() == [[1, 1]]


def test_a_point_is_taken_whether_sampled_or_not() -> None:
    actions = np.array([[0.1, 0.2], [0.3, 0.4]])
    point = Point(actions)
    assert point.mode() is point.sample(np.random.default_rng(0)) is actions
    assert point.probability(np.array([[0.1, 0.2], [0.3, 0.5]])).tolist() == [1, 0]
