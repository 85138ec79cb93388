"""Merge: its first scenes, and each term of its reward in a scene made by hand."""

import numpy as np
import pytest

from tests.support.highway_scenes import IDLE, RIGHT, SLOWER, empty_scene, put, scenes, step


def test_the_paper_draws_from_6_to_12_others_at_least_15_metres_apart() -> None:
    drawn = scenes("Merge", n=400).scenes
    others = drawn["vehicles"] - 1
    assert others.min() == 6
    assert others.max() == 12
    for scene in drawn[:100]:
        for i in range(5, scene["vehicles"]):  # the first five are highway-env's own
            same = scene["lane"][:i] == scene["lane"][i]
            assert (np.abs(scene["x"][:i] - scene["x"][i])[same] > 15).all()
            assert 28 <= scene["speed"][i] <= 32


def test_a_full_road_takes_fewer_vehicles() -> None:
    assert (scenes("Merge", {"vehicles_count": 50}, 20).scenes["vehicles"] < 30).all()


def test_speed_and_the_right_lane_are_rewarded() -> None:
    simulation = empty_scene("Merge")
    assert step(simulation, IDLE)["reward"] == pytest.approx((0.2 + 0.1 + 1.5) / 1.8)
    assert step(simulation, RIGHT)["reward"] == pytest.approx((0.2 + 0.1 - 0.05 + 1.5) / 1.8)


def test_a_slow_vehicle_on_the_merging_lane_costs() -> None:
    simulation = empty_scene("Merge")
    simulation.scenes["vehicles"] = 2
    put(simulation, 1, 240.0, 8.0, 0.0, 15.0)
    simulation.scenes["target_speed"][0, 1] = 30.0
    outcome = step(simulation, IDLE)
    scene = simulation.scenes[0]
    assert simulation.tables.network.numbers["b", "c", 2] == scene["lane"][1]
    slow = (30 - scene["speed"][1]) / 30
    assert slow > 0.2
    assert outcome["reward"] == pytest.approx((0.2 + 0.1 - 0.5 * slow + 1.5) / 1.8)


def test_with_speed_by_index_the_target_speed_is_rewarded_at_once() -> None:
    simulation = empty_scene("Merge", {"speed_reward": "index"})
    expected = (0.2 * 1 / 2 + 0.1 + 1.5) / 1.8
    assert step(simulation, SLOWER)["reward"] == pytest.approx(expected)


def test_the_episode_ends_after_the_ramp() -> None:
    simulation = empty_scene("Merge")
    put(simulation, 0, 345.0, 4.0, 0.0, 30.0)
    outcome = step(simulation, IDLE)
    assert outcome["terminated"]
    assert not outcome["crashed"]
