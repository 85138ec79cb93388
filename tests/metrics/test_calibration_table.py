import json

import pytest

from policy_inertia import InputError
from policy_inertia.metrics.calibration_table import Calibration
from tests.support.calibrations import calibration


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


@pytest.mark.parametrize("budget", [-0.1, 1.1, float("nan")])
def test_budget_that_is_not_a_ratio_is_refused(budget: float) -> None:
    with pytest.raises(InputError, match="lies from 0 to 1"):
        calibration(0.1).within(budget)


def test_calibration_survives_json() -> None:
    before = calibration(0.4, 0.1)
    assert Calibration.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_text_of_a_calibration_shows_the_headline_measures_that_are_known() -> None:
    head, first, _ = str(calibration(0.4, 0.1)).splitlines()
    assert head.split() == ["price", "return", "oscillation", "ratio", "termination", "rate"]
    assert first.split() == ["0", "10.00", "0.400", "0.00"]
