"""Curves are compared at the same oscillation."""

import math

import pytest

from policy_inertia.calibration.matched import best_at, best_overall, return_at
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
