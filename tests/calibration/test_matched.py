"""Curves are compared at the same oscillation."""

import math

import pytest

from policy_inertia.calibration.matched import best_at, best_overall, return_at, rows_around
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
