"""Curves are compared at the same oscillation."""

import math

import pytest

from policy_inertia.calibration.matched import (
    best_at,
    best_overall,
    return_at,
    rows_around,
    rows_beside,
)
from policy_inertia.metrics.calibration_table import Row
from tests.support.calibrations import row

LINE = [row(0.0, 0.4, 10.0), row(1.0, 0.2, 8.0), row(2.0, 0.1, 4.0)]
WAVY = [row(0.0, 0.4, 10.0), row(1.0, 0.1, 9.0), row(2.0, 0.3, 8.0), row(3.0, 0.0, 0.0)]


@pytest.mark.parametrize(
    ("level", "return_"), [(0.5, 10.0), (0.4, 10.0), (0.3, 9.0), (0.15, 6.0), (0.1, 4.0)]
)
def test_return_lies_on_the_line_between_the_rows_around_the_level(
    level: float, return_: float
) -> None:
    assert return_at(LINE, level) == pytest.approx(return_)


def test_level_that_is_not_reached_has_no_return() -> None:
    assert return_at(LINE, 0.05) == -math.inf


def test_row_does_not_count_if_a_smoother_one_is_above_the_level() -> None:
    assert return_at(WAVY, 0.15) == pytest.approx(4.0)  # between 0.3 and 0, not the row at 0.1


def test_other_curves_are_best_at_other_levels() -> None:
    steep = [row(0.0, 0.4, 12.0), row(1.0, 0.05, 1.0)]
    assert [best_at([LINE, steep], level) for level in (0.4, 0.35, 0.2, 0.1, 0.05)] == [
        1,
        1,
        0,
        0,
        1,
    ]
    assert best_at([steep, LINE], 0.01) == 0  # nobody is there; the first comes closest
    assert best_overall([LINE, steep]) == 0


def test_equal_curves_are_settled_for_the_first() -> None:
    assert best_at([LINE, LINE], 0.2) == 0
    assert best_overall([LINE, LINE]) == 0


def test_higher_mean_over_settings_does_not_count() -> None:
    """A curve whose settings are all loose has the higher mean return, at more oscillation."""
    loose = [row(0.0, 0.5, 10.0), row(1.0, 0.49, 10.0), row(2.0, 0.48, 10.0), row(3.0, 0.1, 1.0)]
    even = [row(0.0, 0.5, 10.0), row(1.0, 0.3, 9.0), row(2.0, 0.2, 8.0), row(3.0, 0.1, 2.0)]
    assert best_overall([loose, even]) == 1


@pytest.mark.parametrize("level", [0.95, 0.9, 0.55, 0.31, 0.0, -0.1])
def test_bisection_finds_the_return_of_the_whole_curve(level: float) -> None:
    curve = [row(float(i), 0.9 - 0.1 * i, 20.0 - i**2) for i in range(10)]
    measured: list[float] = []

    def measure(setting: float) -> Row:
        measured.append(setting)
        return curve[int(setting)]

    around = rows_around([r.setting for r in curve], measure, level)
    assert return_at(around, level) == return_at(curve, level)
    assert len(measured) <= 4
    assert [r.setting for r in around] == sorted(measured)
    if level < 0:  # not reached: the smoothest row says how close it comes
        assert around[-1] == curve[-1]


def test_bisection_of_a_single_setting() -> None:
    for level in (0.4, 0.3):
        assert rows_around([0.0], lambda setting: LINE[0], level) == LINE[:1]


def measured_beside(
    known: list[float], fresh: list[float], start: int, level: float
) -> list[float]:
    """The settings (places of the ratios) that are measured on fresh episodes, in their order."""
    order: list[float] = []

    def measure(known_row: Row) -> Row:
        order.append(known_row.setting)
        return row(known_row.setting, fresh[int(known_row.setting)], 0.0)

    curve = [row(float(i), ratio) for i, ratio in enumerate(known)]
    rows = rows_beside(curve, measure, start, level)
    assert [r.setting for r in rows] == sorted(order)
    assert len(set(order)) == len(order)
    return order


TEN = [0.9 - 0.1 * i for i in range(10)]


def test_two_rows_are_enough_where_other_episodes_agree() -> None:
    assert measured_beside(TEN, TEN, 5, 0.45) == [5, 4]
    assert measured_beside(TEN, TEN, 6, 0.45) == [6, 4]  # chosen by a bound, so below the level


def test_search_goes_on_in_the_direction_of_the_level_in_strides_that_double() -> None:
    calmer, livelier = [x / 2 for x in TEN], [x + 0.25 for x in TEN]
    assert measured_beside(TEN, calmer, 7, 0.32) == [7, 5, 4, 2]
    assert measured_beside(TEN, livelier, 5, 0.42) == [5, 6, 7, 9]
    assert measured_beside(TEN, livelier, 6, 0.52) == [6, 7]


def test_rows_far_apart_are_brought_closer() -> None:
    known = [0.9, 0.2, 0.1, 0.09, 0.08, 0.07, 0.0]
    fresh = [0.9, 0.8, 0.7, 0.12, 0.11, 0.09, 0.0]
    # 6 and 1 lie around 0.1, then 3, then 4, which is still 0.11 above row 6, and 5
    assert measured_beside(known, fresh, 6, 0.1) == [6, 1, 3, 4, 5]
    assert measured_beside(TEN, [0.8, 0.0], 1, 0.1) == [1, 0]  # nothing lies between them


def test_curve_that_stays_on_one_side_is_measured_to_its_end() -> None:
    above = measured_beside(TEN, [1.0] * 10, 5, 0.45)
    assert above[-1] == 9
    below = measured_beside(TEN, [0.0] * 10, 5, 0.45)
    assert below[-1] == 0
    assert measured_beside([0.5], [0.6], 0, 0.5) == [0]
