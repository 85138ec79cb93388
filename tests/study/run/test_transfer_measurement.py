"""Policies are measured at their own settings and at one oscillation ratio, by known curves."""

from collections.abc import Callable

import pytest

from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.metrics.calibration_table import Row
from policy_inertia.policies.policy import Policy
from policy_inertia.study.run.transfer_measurement import FreshCurve, FreshRows, at_budget
from tests.support.calibrations import calibration, reaching, row
from tests.support.policies import fresh

RATIOS = (0.4, 0.3, 0.2, 0.1, 0.0)
Measure = Callable[[Policy, Row], Row]


@pytest.fixture
def policy() -> Policy:
    """A dial with these ratios at the prices 0, 0.5, 1, 1.5 and 2."""
    return reaching(fresh("dial-dqn"), 2.0).replace(calibration=calibration(*RATIOS))


def fresh_episodes(change: float, slope: float, lowest: float = 0.0) -> Measure:
    """Ratios that are higher by a number, and returns on a line over them, from 100 at 0."""

    def measure(policy: Policy, known: Row) -> Row:
        ratio = max(known.oscillation_ratio + change, lowest)
        return row(known.setting, ratio, 100.0 + slope * ratio)

    return measure


def test_both_policies_are_read_at_the_budget(policy: Policy) -> None:
    curves = {
        "hysteresis": FreshCurve(policy, 0.25, fresh_episodes(0.02, 10.0)),
        "controller": FreshCurve(policy, 0.25, fresh_episodes(-0.08, 30.0)),
    }
    figures = at_budget(curves, 0.25)
    assert figures["level"] == 0.25
    assert figures["hysteresis"] == {
        "return": 102.2,
        "oscillation_ratio": 0.22,
        "return_at_level": 102.5,
        "rows": [
            {"setting": 0.5, "oscillation_ratio": 0.32, "return": 103.2},
            {"setting": 1.0, "oscillation_ratio": 0.22, "return": 102.2},
        ],
    }
    controller = figures["controller"]
    assert controller["return_at_level"] == 107.5
    assert controller["oscillation_ratio"] == 0.12  # at the setting that was chosen
    assert [x["setting"] for x in controller["rows"]] == [0.0, 0.5, 1.0]


def test_level_is_higher_where_a_curve_does_not_come_down_to_the_budget(policy: Policy) -> None:
    curves = {
        "hysteresis": FreshCurve(policy, 0.1, fresh_episodes(0.0, 10.0, lowest=0.15)),
        "controller": FreshCurve(policy, 0.1, fresh_episodes(0.0, 30.0)),
    }
    figures = at_budget(curves, 0.1)
    assert figures["level"] == 0.15
    assert figures["hysteresis"]["return_at_level"] == 101.5
    assert figures["controller"]["return_at_level"] == pytest.approx(104.5)
    assert figures["controller"]["return"] == 103.0


def test_same_policy_is_measured_once_at_each_setting(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[float] = []

    def count(self: Episodes, policy: Policy, setting: float) -> Row:
        settings.append(setting)
        return row(setting, 0.1)

    monkeypatch.setattr(Episodes, "row", count)
    assert policy.calibration is not None
    loose, *_, smooth = policy.calibration.rows
    with opened("CartPole-v1", 1, None) as envs:
        rows = FreshRows(Episodes(envs, 1, 0))
        for known in (loose, smooth, loose):
            rows(policy, known)
        rows(policy.replace(calibration=None), smooth)
        assert settings == [0.0, 2.0]
        rows(reaching(policy, 3.0), smooth)  # another controller at the same price
        assert settings == [0.0, 2.0, 2.0]
