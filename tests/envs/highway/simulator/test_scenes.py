"""Who is on the road at the start: the paper's numbers of vehicles, and roads that are full."""

import numpy as np
import pytest

from policy_inertia.envs.highway import TASKS, configuration
from policy_inertia.envs.highway.simulator import records
from policy_inertia.envs.highway.simulator.simulation import Simulation
from tests.support.highway_scenes import scene


def begun(task: str, config: dict | None = None, n: int = 400) -> np.ndarray:
    spec = TASKS[task]
    simulation = Simulation(spec, configuration(spec, config), n)
    simulation.begin(np.ones(n, bool), list(range(n)))
    return simulation.scenes


def test_lane_change_draws_from_20_to_50_others() -> None:
    others = begun("LaneChange")["vehicles"] - 1
    assert set(range(20, 51)) == set(others.tolist())


def test_merge_draws_from_6_to_12_others_who_keep_their_distance() -> None:
    scenes = begun("Merge")
    others = scenes["vehicles"] - 1
    assert others.min() == 6
    assert others.max() == 12
    for one in scenes[:100]:
        for i in range(5, one["vehicles"]):  # behind upstream's own
            same = one["lane"][:i] == one["lane"][i]
            assert (np.abs(one["x"][:i] - one["x"][i])[same] > 15).all()
            assert 28 <= one["speed"][i] <= 32


def test_two_way_has_six_ahead_and_four_oncoming() -> None:
    scenes = begun("TwoWay")
    assert (scenes["vehicles"] == 11).all()
    ahead, oncoming = scenes["x"][:, 1:7], 800 - scenes["x"][:, 7:11]
    assert ahead.mean(axis=0) == pytest.approx(70 + 40 * np.arange(6), abs=3)
    assert oncoming.mean(axis=0) == pytest.approx(200 + 100 * np.arange(4), abs=3)
    assert scenes["target_lane"][:, 1:7].tolist() == [[1] * 6] * 400
    assert scenes["target_lane"][:, 7:11].tolist() == [[2] * 4] * 400


def test_simple_two_way_has_half_the_vehicles() -> None:
    assert (begun("TwoWay", {"scenario": "simple"}, 3)["vehicles"] == 6).all()
    assert (begun("TwoWay", {"vehicles_count": 7}, 3)["vehicles"] == 8).all()


def test_a_full_road_takes_as_many_as_it_can() -> None:
    scenes = begun("Merge", {"vehicles_count": 50}, 20)
    assert (scenes["vehicles"] < 30).all()


def test_an_intersection_in_a_jam_goes_on() -> None:
    spec = TASKS["Intersection"]
    config = {"spawn_probability": 1.0, "policy_frequency": 15, "initial_vehicle_count": 40}
    simulation = Simulation(spec, configuration(spec, config), 4)
    simulation.begin(np.ones(4, bool), [0, 1, 2, 3])
    for _ in range(900):
        simulation.step(np.zeros(4, np.int64))
    scenes = simulation.scenes
    assert (scenes["vehicles"] <= simulation.tables.capacity).all()
    assert np.isfinite(scenes["x"]).all()
    assert np.isfinite(simulation.seen).all()


def test_without_the_speed_limit_traffic_keeps_its_speed() -> None:
    speeds = {}
    for limited in (True, False):
        simulation = scene("TwoWay", {"idm_speed_limit": limited, "scenario": "simple"})
        before = simulation.scenes["speed"][0, 3]  # the one ahead of all
        for _ in range(5):
            simulation.step(np.array([1]))
        speeds[limited] = (before, simulation.scenes["speed"][0, 3])
    assert speeds[True][1] == pytest.approx(20, abs=0.5)
    assert speeds[False][1] == pytest.approx(speeds[False][0], abs=0.5)


def test_large_scenes_are_compiled_for_their_size() -> None:
    spec = TASKS["LaneChange"]
    sizes = [Simulation(spec, configuration(spec, {"vehicles_count": n}), 1) for n in (94, 95, 300)]
    assert [s.tables.capacity for s in sizes] == list(records.CAPACITIES)
