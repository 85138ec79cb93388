from policy_inertia.metrics.best_rows import best_rows, frontier
from policy_inertia.metrics.calibration_table import Calibration, Row
from tests.support.calibrations import row


def table(*rows: tuple[float, float]) -> Calibration:
    """A dial with these oscillation ratios and returns at the prices 0, 1, 2, ..."""
    return Calibration("price", "T", 2, 0, tuple(row(float(i), *x) for i, x in enumerate(rows)))


def settings(rows: list[Row]) -> list[float]:
    return [r.setting for r in rows]


def test_rows_that_another_one_beats_in_both_are_left_out() -> None:
    rows = table((0.5, -335), (0.4, 40), (0.3, 46), (0.2, 46), (0.1, -20), (0.0, -20), (0.0, -90))
    assert settings(frontier(rows)) == [3, 5]
    assert settings(frontier(table((0.3, 1), (0.3, 1)))) == [0]


def test_loosest_setting_is_shown_even_if_another_one_beats_it() -> None:
    rows = table((0.165, -335.0), (0.064, 46.0), (0.0, -120.0))
    assert settings(best_rows(rows, 6)) == [0, 1, 2]
    assert settings(best_rows(table((0.2, 9), (0.1, 5)), 6)) == [0, 1]


def test_many_rows_are_thinned_out_around_the_best() -> None:
    rows = table(*((1 - 0.01 * i, 100.0 - i) for i in range(40)))
    shown = settings(best_rows(rows, 6))
    assert len(shown) <= 6
    assert shown[0] == 0
    assert shown[-1] >= 30
