"""Two-Way: its first scenes, and each term of its reward in a scene made by hand."""

import numpy as np
import pytest

from tests.support.highway_scenes import IDLE, LEFT, SLOWER, empty_scene, scenes, step


@pytest.mark.parametrize(("scenario", "gap"), [("complex", 60), ("dense", 40)])
def test_ten_others_are_six_vehicles_ahead_and_four_oncoming(scenario: str, gap: int) -> None:
    drawn = scenes("TwoWay", {"scenario": scenario}, n=400).scenes
    assert (drawn["vehicles"] == 11).all()
    ahead, oncoming = drawn["x"][:, 1:7], 800 - drawn["x"][:, 7:11]
    assert ahead.mean(axis=0) == pytest.approx(70 + gap * np.arange(6), abs=3)
    assert oncoming.mean(axis=0) == pytest.approx(200 + 100 * np.arange(4), abs=3)
    assert drawn["target_lane"][:, 1:7].tolist() == [[1] * 6] * 400
    assert drawn["target_lane"][:, 7:11].tolist() == [[2] * 4] * 400


def test_the_papers_configuration_is_the_complex_scenario() -> None:
    ours, complex_ = scenes("TwoWay"), scenes("TwoWay", {"scenario": "complex"})
    assert ours.scenes["x"].tolist() == complex_.scenes["x"].tolist()


def test_the_simple_scenario_has_half_the_vehicles_and_a_number_overrides_it() -> None:
    assert (scenes("TwoWay", {"scenario": "simple"}, 3).scenes["vehicles"] == 6).all()
    assert (scenes("TwoWay", {"vehicles_count": 7}, 3).scenes["vehicles"] == 8).all()


def test_without_the_speed_limit_traffic_keeps_its_speed() -> None:
    speeds = {}
    for limit in (True, False):
        simulation = scenes("TwoWay", {"idm_speed_limit": limit, "scenario": "simple"})
        before = simulation.scenes["speed"][0, 3]  # the first vehicle of the road
        for _ in range(5):
            step(simulation, IDLE)
        speeds[limit] = (before, simulation.scenes["speed"][0, 3])
    assert speeds[True][1] == pytest.approx(20, abs=0.5)
    assert speeds[False][1] == pytest.approx(speeds[False][0], abs=0.5)


def test_the_target_speed_and_the_left_lane_are_rewarded() -> None:
    simulation = empty_scene("TwoWay")
    assert step(simulation, IDLE)["reward"] == pytest.approx(0.8)
    assert step(simulation, LEFT)["reward"] == pytest.approx(0.8 + 0.2)
    assert step(simulation, SLOWER)["reward"] == pytest.approx(0.4 + 0.2)


def test_the_left_lane_has_a_cost_in_info_and_none_in_the_reward() -> None:
    simulation = empty_scene("TwoWay")
    assert step(simulation, IDLE)["cost"] == 0
    for _ in range(2):
        step(simulation, LEFT)
    outcome = step(simulation, LEFT)
    assert outcome["lane"] == 0
    assert outcome["cost"] == pytest.approx(1 / 15)
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, IDLE)
    assert outcome["cost"] == pytest.approx(1 + 1 / 15)
    assert outcome["terminated"]
    assert outcome["reward"] == pytest.approx(0.8 + 0.2)  # a crash only ends the episode
