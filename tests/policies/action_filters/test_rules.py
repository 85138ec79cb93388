"""Every rule against SciPy or a plain loop; the limit on movement by property test."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import butter, lfilter, lfilter_zi

from policy_inertia import InputError
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.action_filters.rule import Rule

SIGNAL = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 3))
EVERY = [
    Exponential(0.3),
    Butterworth(0.2),
    DeadBand(0.1),
    RateLimit(0.05),
    OneEuro(0.05),
    MovementLimit(0.05),
]

NO_NUMBER: list[Any] = [None, "x"]


def outputs(rule: Rule, signal: np.ndarray) -> np.ndarray:
    """The outputs for one env, started at the first input."""
    memory, rows = rule.start(signal[:1]), []
    for x in signal[:, None]:
        y, memory = rule.step(x, memory)
        rows.append(y[0])
    return np.array(rows)


def scipys(b: Any, a: Any, signal: np.ndarray) -> np.ndarray:
    start = lfilter_zi(b, a)[:, None] * signal[0]
    return lfilter(b, a, signal, axis=0, zi=start)[0]


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.0])
def test_exponential_is_scipys(alpha: float) -> None:
    expected = scipys([alpha], [1, alpha - 1], SIGNAL)
    np.testing.assert_allclose(outputs(Exponential(alpha), SIGNAL), expected, atol=1e-14)


@pytest.mark.parametrize("cutoff", [0.01, 0.2, 0.5, 0.95])
def test_butterworth_is_scipys(cutoff: float) -> None:
    b, a = butter(2, cutoff)
    expected = scipys(b, a, SIGNAL)
    np.testing.assert_allclose(outputs(Butterworth(cutoff), SIGNAL), expected, atol=1e-12)


def test_dead_band_takes_only_large_moves() -> None:
    expected = [SIGNAL[0]]
    for x in SIGNAL[1:]:
        expected.append(
            [b if abs(b - a) > 0.3 else a for a, b in zip(expected[-1], x, strict=True)]
        )
    np.testing.assert_array_equal(outputs(DeadBand(0.15), SIGNAL), expected)
    np.testing.assert_array_equal(outputs(DeadBand(0), SIGNAL), SIGNAL)


def test_rate_limit_moves_no_number_faster() -> None:
    moves = np.diff(outputs(RateLimit(0.05), SIGNAL), axis=0) / 2
    assert abs(moves).max() == pytest.approx(0.05)
    np.testing.assert_allclose(outputs(RateLimit(1), SIGNAL), SIGNAL, atol=1e-15)


class LowPass:
    """Exponential smoothing as the paper of the one-euro filter has it."""

    def __init__(self) -> None:
        self.last: float | None = None

    def __call__(self, x: float, alpha: float) -> float:
        self.last = x if self.last is None else alpha * x + (1 - alpha) * self.last
        return self.last


def test_one_euro_is_the_papers_algorithm() -> None:
    """At 50 Hz: cutoffs of 2 and 5 Hz, beta 0.7; the signal in ranges."""
    rate, signal = 50.0, SIGNAL[:, 0] / 2
    x_filter, dx_filter, expected = LowPass(), LowPass(), []

    def alpha(cutoff: float) -> float:
        return 1 / (1 + 1 / (2 * math.pi * cutoff) * rate)

    for x, before in zip(signal, [signal[0], *signal[:-1]], strict=True):
        speed = dx_filter((x - before) * rate, alpha(5.0))
        expected.append(2 * x_filter(x, alpha(2.0 + 0.7 * abs(speed))))
    ours = outputs(OneEuro(2.0 / rate, 0.7, 5.0 / rate), SIGNAL[:, :1])
    np.testing.assert_allclose(ours[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_output_stays_where_the_input_stays(rule: Rule) -> None:
    still = np.full((20, 2), 0.3)
    np.testing.assert_allclose(outputs(rule, still), still, atol=1e-14)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_outputs_do_not_depend_on_where_0_is(rule: Rule) -> None:
    shifted = outputs(rule, SIGNAL + 0.25) - 0.25
    np.testing.assert_allclose(shifted, outputs(rule, SIGNAL), atol=1e-5)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_settings_go_from_loose_to_smooth(rule: Any) -> None:
    signal = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 3))
    moved = []
    for setting in rule.settings():
        other = replace(rule, **{rule.adjustable: setting})
        moved.append(abs(np.diff(outputs(other, signal), axis=0)).mean())
    assert moved[0] == pytest.approx(abs(np.diff(signal, axis=0)).mean(), rel=0.15)
    assert moved[-1] < 0.1 * moved[0]
    falling = np.diff(rule.settings()) < 0
    assert falling.all() if rule.lower_is_smoother else not falling.any()


@settings(deadline=None, max_examples=60)
@given(
    wild=st.lists(st.sampled_from([-1.0, 1.0, 0.0, 0.123456]), min_size=5, max_size=40),
    rate=st.floats(0, 0.5),
    burst=st.floats(0.01, 2),
    per_dimension=st.booleans(),
    seed=st.integers(0, 1_000),
)
def test_movement_in_every_stretch_is_bounded(
    wild: list[float], rate: float, burst: float, per_dimension: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    signal = np.stack([wild, rng.permutation(wild), rng.uniform(-1, 1, len(wild))], 1)
    moved = abs(np.diff(outputs(MovementLimit(rate, burst, per_dimension), signal), axis=0)) / 2
    moved = moved if per_dimension else moved.mean(1, keepdims=True)
    for start in range(len(moved)):
        total = np.cumsum(moved[start:], axis=0)
        steps = np.arange(1, len(total) + 1)[:, None]
        # the tokens of the last step come after it
        assert (total <= burst + rate * (steps - 1) + 1e-9).all()


def test_limit_that_is_never_reached_changes_nothing() -> None:
    np.testing.assert_array_equal(outputs(MovementLimit(1, 3), SIGNAL), SIGNAL)


def test_limit_goes_as_far_as_the_tokens_reach() -> None:
    signal = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    taken = outputs(MovementLimit(0, 0.1), signal)  # the mean of |move| / 2 is at most 0.1
    np.testing.assert_allclose(taken, [[0.0, 0.0], [0.4, 0.0], [0.4, 0.0]], atol=1e-5)
    own = outputs(MovementLimit(0, 0.1, per_dimension=True), signal)
    np.testing.assert_allclose(own, [[0.0, 0.0], [0.2, 0.0], [0.2, 0.0]], atol=1e-5)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_rules_survive_json(rule: Rule) -> None:
    assert rule_table.from_dict(rule_table.to_dict(rule)) == rule


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Exponential(0), "alpha is 0: give the share"),
        (lambda: Exponential(float("nan")), "alpha is nan"),
        (lambda: Butterworth(1), "cutoff is 1: give a share of half the step rate"),
        (lambda: DeadBand(-0.1), "width is -0.1: give a share of the range"),
        (lambda: RateLimit(2), "rate is 2: give a share of the range per step"),
        (lambda: OneEuro(0), "min_cutoff is 0: give cycles per step"),
        (lambda: OneEuro(1, -1), "beta is -1: give 0"),
        (lambda: MovementLimit(-1), "the rate of a limit is -1: give ranges per step"),
        (lambda: MovementLimit(NO_NUMBER[0]), "the rate of a limit is None: give a number, ranges"),
        (
            lambda: MovementLimit(0.1, NO_NUMBER[1]),
            "the burst of a limit is 'x': give a number, ranges",
        ),
        (lambda: MovementLimit(0.1, 0), "the burst of a limit is 0: give ranges"),
        (lambda: rule_table.from_dict({"name": "exponentiel"}), "did you mean 'exponential'"),
        (lambda: rule_table.from_dict({"name": "exponential"}), "alpha is missing"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(make: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make()
