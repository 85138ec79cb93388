import json

import pytest

from policy_inertia import InputError
from policy_inertia.metrics.calibration_table import Calibration
from tests.support.calibrations import calibration, row


@pytest.mark.parametrize(
    ("budget", "setting"), [(0.5, 0.0), (0.4, 0.0), (0.3, 0.5), (0.25, 1.0), (0.1, 2.0), (1, 0.0)]
)
def test_budget_is_kept_from_the_lowest_setting_on_that_stays_within_it(
    budget: float, setting: float
) -> None:
    assert calibration(0.4, 0.3, 0.2, 0.25, 0.1).within(budget).setting == setting


def test_setting_does_not_count_if_a_higher_one_breaks_the_budget() -> None:
    wavy = calibration(0.4, 0.2, 0.3, 0.25, 0.1)
    assert wavy.within(0.25).setting == 1.5
    assert wavy.within(0.3).setting == 0.5


@pytest.mark.parametrize("budget", [0.05, 0.0, 0.0999])
def test_budget_that_is_not_reached_is_refused_with_the_range(budget: float) -> None:
    with pytest.raises(InputError, match=r"not reachable.* from 0.400 down to 0.100 on Task"):
        calibration(0.4, 0.05, 0.1).within(budget)


def test_budget_is_kept_by_the_upper_bound_and_not_by_the_mean() -> None:
    rows = (row(0.0, 0.40, bound=0.42), row(1.0, 0.19, bound=0.21), row(2.0, 0.15, bound=0.17))
    table = Calibration("price", "Task", 20, 0, rows)
    assert table.within(0.2).setting == 2
    assert table.within(0.21).setting == 1


@pytest.mark.parametrize(("lowest", "least"), [(0.0004, "0.00040"), (0.0123, "0.013")])
def test_least_budget_that_an_error_names_is_reachable(lowest: float, least: str) -> None:
    rows = (row(0.0, 0.4), row(1.0, lowest / 2, bound=lowest))
    table = Calibration("price", "Task", 20, 0, rows)
    with pytest.raises(InputError, match=f"so give at least {least},"):
        table.within(0.0)
    assert table.within(float(least)).setting == 1


@pytest.mark.parametrize("budget", [-0.1, 1.1, float("nan")])
def test_budget_that_is_not_a_ratio_is_refused(budget: float) -> None:
    with pytest.raises(InputError, match="lies from 0 to 1"):
        calibration(0.1).within(budget)


def test_calibration_survives_json() -> None:
    before = calibration(0.4, 0.1)
    assert Calibration.from_dict(json.loads(json.dumps(before.to_dict()))) == before
    bounded = Calibration("price", "Task", 20, 0, (row(0.0, 0.4, bound=0.42, mode="gate"),))
    assert Calibration.from_dict(json.loads(json.dumps(bounded.to_dict()))) == bounded


def test_table_of_an_older_file_has_no_bounds() -> None:
    values = calibration(0.4, 0.1).to_dict()
    for each in values["rows"]:
        del each["oscillation_bound"], each["mode"]
    assert Calibration.from_dict(json.loads(json.dumps(values))) == calibration(0.4, 0.1)


def test_text_of_a_calibration_shows_the_headline_measures_that_are_known() -> None:
    head, first, _ = str(calibration(0.4, 0.1)).splitlines()
    assert head.split() == ["price", "return", "oscillation", "ratio", "termination", "rate"]
    assert first.split() == ["0", "10.00", "0.400", "0.00"]
