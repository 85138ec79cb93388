"""A rule between a policy and its env: episodes, hand-overs, deltas, and numbers left alone."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions.box import Box
from policy_inertia.policies.action_filters.action_filter import (
    ActionFilter,
    Dimension,
    read_dimensions,
)
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, memory_of

ARM = Box((-1, -1, -1), (1, 1, 1), (3,))
SIGNAL = np.random.default_rng(0).uniform(-1, 1, (30, 3))


def made(rule: Rule, *dimensions: Dimension, actions: Box = ARM) -> ActionFilter:
    return ActionFilter(rule, actions, read_dimensions(dimensions or "absolute", actions))


def run(rule: ActionFilter, signal: np.ndarray, state: State | None = None) -> np.ndarray:
    """The actions of one env; `state` is the state before the first."""
    memory = memory_of(rule.actions, (rule,))
    state, rows = memory.at(state, 1), []
    for x in signal[:, None]:
        y, fields = rule.step(x, np.zeros(1), state)
        state = {PREVIOUS_ACTION: y, **fields}
        rows.append(y[0])
    return np.array(rows)


def test_episode_starts_at_the_policys_first_action() -> None:
    taken = run(made(Exponential(0.1)), SIGNAL)
    np.testing.assert_array_equal(taken[0], SIGNAL[0])
    np.testing.assert_allclose(taken[1], 0.9 * SIGNAL[0] + 0.1 * SIGNAL[1])


def test_only_the_envs_that_start_an_episode_start_afresh() -> None:
    rule = made(Exponential(0.1))
    memory = memory_of(ARM, (rule,))
    y, fields = rule.step(SIGNAL[:2], np.zeros(2), memory.initial(2))
    state = memory.at({PREVIOUS_ACTION: y, **fields}, 2, [True, False])
    z, _ = rule.step(SIGNAL[2:4], np.zeros(2), state)
    np.testing.assert_array_equal(z[0], SIGNAL[2])
    np.testing.assert_allclose(z[1], 0.9 * SIGNAL[1] + 0.1 * SIGNAL[3])


@pytest.mark.parametrize("rule", [Exponential(0.1), Butterworth(0.1), RateLimit(0.05)])
def test_hand_over_goes_on_from_the_action_that_was_taken_before(rule: Rule) -> None:
    """A state with a previous action and no memory of the filter: somebody else was in control."""
    before = np.full((1, 3), 0.5)
    taken = run(made(rule), np.full((100, 3), -0.5), {PREVIOUS_ACTION: before})
    assert (abs(taken[0] - 0.5) <= 0.1 + 1e-12).all()  # no jump
    np.testing.assert_allclose(taken[-1], -0.5, atol=0.01)


def test_numbers_that_must_not_be_touched_are_the_policys_own() -> None:
    taken = run(made(Exponential(0.1), "absolute", "untouched", "absolute"), SIGNAL)
    np.testing.assert_array_equal(taken[:, 1], SIGNAL[:, 1])
    others = run(made(Exponential(0.1)), SIGNAL)
    np.testing.assert_allclose(taken[:, [0, 2]], others[:, [0, 2]])
    nothing = run(made(Exponential(0.1), "untouched", "untouched", "untouched"), SIGNAL)
    np.testing.assert_array_equal(nothing, SIGNAL)


def test_smoothing_deltas_is_smoothing_the_positions_they_add_up_to() -> None:
    taken = run(made(Exponential(0.2), "delta", "delta", "absolute"), SIGNAL / 4)
    positions, smooth = np.cumsum(SIGNAL[:, :2] / 4, axis=0), np.zeros(2)
    for t, wanted in enumerate(positions):
        before, smooth = smooth, smooth + 0.2 * (wanted - smooth)
        np.testing.assert_allclose(taken[t, :2], smooth - before, atol=1e-12)
    absolute = run(made(Exponential(0.2)), SIGNAL / 4)
    np.testing.assert_allclose(taken[:, 2], absolute[:, 2])
    assert abs(taken[0, 0] - absolute[0, 0]) > 0.01  # an absolute number does not start at rest


def test_dead_band_collects_small_deltas_until_they_are_a_move() -> None:
    taken = run(made(DeadBand(0.1), "delta", "delta", "delta"), np.full((12, 3), 0.06))
    assert taken[:, 0] == pytest.approx([0, 0, 0, 0.24, 0, 0, 0, 0.24, 0, 0, 0, 0.24])


@pytest.mark.parametrize("rule", [RateLimit(0.05), MovementLimit(0.05, 0.05, True)])
def test_limits_on_deltas_do_not_wind_up(rule: Rule) -> None:
    """A policy that asks for 0 gets it at once, however long it was held back before."""
    signal = np.concatenate([np.ones((20, 3)), np.zeros((5, 3))])
    taken = run(made(rule, "delta", "delta", "delta"), signal)
    assert abs(taken[:20]).max() <= 0.1 + 1e-9
    np.testing.assert_allclose(taken[20:], 0, atol=1e-12)


def test_limit_on_deltas_is_spent_by_the_deltas() -> None:
    limit = made(MovementLimit(0.01, 0.3), "delta", "delta", "delta")
    moved = (abs(run(limit, SIGNAL)) / 2).mean(1)
    for start in range(len(moved)):
        steps = np.arange(len(moved) - start)
        assert (np.cumsum(moved[start:]) <= 0.3 + 0.01 * steps + 1e-9).all()


def test_delta_of_0_need_not_lie_in_the_middle_of_its_bounds() -> None:
    actions = Box((-1.0,), (3.0,), (1,))
    rule = ActionFilter(Exponential(0.5), actions, ("delta",))
    taken = run(rule, actions.from_env([[2.0], [0.0], [0.0]]))
    np.testing.assert_allclose(actions.to_env(taken), [[1.0], [0.5], [0.25]])


def test_action_stays_within_its_bounds_where_a_filter_overshoots() -> None:
    signal = np.concatenate([np.full((5, 3), -1.0), np.full((30, 3), 1.0)])
    assert run(made(Butterworth(0.3)), signal).max() == 1


@pytest.mark.parametrize(
    ("dimensions", "says"),
    [
        (["absolute", "delta"], "2 dimensions are declared and an action has 3 numbers: say abs"),
        (["absolute", "delta", "relativ"], "a dimension is 'relativ'"),
        ("deltas", "a dimension is 'deltas': did you mean 'delta'"),
    ],
)
def test_bad_declarations_are_refused_in_one_sentence(dimensions: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_dimensions(dimensions, ARM)


def test_delta_that_cannot_be_0_is_refused() -> None:
    with pytest.raises(InputError, match=r"number 0 .* declared a delta and goes from 1 to 2"):
        read_dimensions("delta", Box((1.0,), (2.0,), (1,)))


def test_memory_can_be_sampled_and_acts_at_once() -> None:
    rule = made(Butterworth(0.1), "delta", "absolute", "untouched")
    memory = memory_of(ARM, (rule,))
    state = memory.sample(np.random.default_rng(0), 4)
    y, fields = rule.step(np.zeros((4, 3)), np.zeros(4), state)
    assert np.isfinite(y).all()
    assert set(fields) | {PREVIOUS_ACTION} == set(state)
