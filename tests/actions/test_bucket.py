"""The limit on switching, and the arithmetic of its tokens."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import numpy as jnp

from policy_inertia import InputError, Limit
from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.discrete import Discrete
from tests.support.pair_actions import Pairs


def test_ten_steps_at_a_rate_of_a_tenth_are_exactly_one_token() -> None:
    tokens = 0
    for _ in range(9):
        tokens = bucket.after(tokens, 0, Limit(0.1, 2).rate_units, 2 * TOKEN, min)
    assert tokens < TOKEN
    assert bucket.after(tokens, 0, Limit(0.1, 2).rate_units, 2 * TOKEN, min) == TOKEN


@given(st.floats(0, 1))
def test_rates_are_read_as_decimals_and_rounded_down(rate: float) -> None:
    units = Limit(rate).rate_units
    assert units == math.floor(Fraction(str(rate)) * TOKEN)
    assert Limit(0.29).rate_units == 290_000  # 0.29 * 1e6 is below 290,000 in binary
    assert Limit(1 / 3).rate_units == 333_333


@settings(deadline=None, max_examples=50)
@given(
    tokens=st.integers(0, 4 * TOKEN),
    switches=st.booleans(),
    rate=st.integers(0, TOKEN),
    burst=st.integers(TOKEN, 4 * TOKEN),
)
def test_python_numpy_and_jax_count_alike(
    tokens: int, switches: bool, rate: int, burst: int
) -> None:
    cost = TOKEN * switches
    expected = min(tokens - cost + rate, burst)
    assert bucket.after(tokens, cost, rate, burst, min) == expected
    assert bucket.after(np.array([tokens]), cost, rate, burst, np.minimum) == expected
    assert bucket.after(jnp.array([tokens]), cost, rate, burst, jnp.minimum) == expected


def test_rate_of_one_never_runs_out_of_tokens() -> None:
    tokens = TOKEN
    for _ in range(100):
        tokens = bucket.after(tokens, TOKEN, Limit(1).rate_units, TOKEN, min)
        assert tokens == TOKEN


def test_switch_costs_one_token_and_the_first_action_none() -> None:
    previous, action = np.array([-1, 0, 0, 2]), np.array([1, 1, 0, 2])
    assert Discrete(3).cost(previous, action).tolist() == [0, TOKEN, 0, 0]


def test_what_a_move_costs_is_a_function_of_the_action_space() -> None:
    previous, action = np.array([[-1, -1], [0, 0], [0, 0]]), np.array([[0, 1], [0, 1], [1, 1]])
    assert Pairs(3).cost(previous, action).tolist() == [0, TOKEN // 2, TOKEN]


@pytest.mark.parametrize("rate", [-0.1, 1.01, float("nan")])
def test_rate_outside_0_to_1_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match=f"the rate of a limit is {rate}: give switches per step"):
        Limit(rate, 2)


@pytest.mark.parametrize("burst", [0.99, 0, -1, float("inf"), float("nan")])
def test_burst_below_1_is_refused(burst: float) -> None:
    with pytest.raises(InputError, match=f"the burst of a limit is {burst}: give at least 1 token"):
        Limit(0.1, burst)


@pytest.mark.parametrize(
    ("rate", "burst", "message"),
    [
        ("x", 1, "the rate of a limit is 'x': give a number, switches per step, from 0 to 1"),
        (None, 1, "the rate of a limit is None: give a number.* leave the limit out"),
        (0.1, None, "the burst of a limit is None: give a number, tokens, at least 1"),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(rate: Any, burst: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Limit(rate, burst)


def test_numbers_of_numpy_are_numbers() -> None:
    rate: Any = np.float32(0.5)
    burst: Any = np.int64(2)
    assert Limit(rate, burst).burst_units == 2 * TOKEN
