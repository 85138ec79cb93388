"""Intersection: its traffic, and each term of its reward in a scene made by hand."""

import numpy as np

from policy_inertia.envs.highway.simulator.lanes import centre
from policy_inertia.envs.highway.simulator.simulation import Simulation
from tests.support.highway_scenes import empty_scene, put, scenes, step

IDLE = 1  # here the actions are SLOWER, IDLE and FASTER


def put_on_exit(simulation: Simulation, distance: float) -> None:
    """Put the ego on an exit, at a distance from its beginning."""
    network = simulation.tables.network
    row = network.lanes[network.numbers["il1", "o1", 0]]
    x, y = centre(row, distance)
    put(simulation, 0, float(x), float(y), float(row["heading"]), 9.0)


def test_only_arriving_is_rewarded() -> None:
    simulation = empty_scene("Intersection", {"spawn_probability": 0.0})
    assert step(simulation, IDLE)["reward"] == 0
    put_on_exit(simulation, 10.0)
    outcome = step(simulation, IDLE)
    assert not outcome["arrived"]
    assert outcome["reward"] == 0
    outcome = step(simulation, IDLE)
    assert outcome["arrived"]
    assert outcome["terminated"]
    assert outcome["reward"] == 5


def test_a_crash_ends_the_episode_and_costs_nothing() -> None:
    simulation = empty_scene("Intersection", {"spawn_probability": 0.0})
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, IDLE)
    assert outcome["terminated"]
    assert outcome["reward"] == 0


def test_traffic_comes_and_leaves() -> None:
    simulation = scenes("Intersection", {"spawn_probability": 1.0})
    for _ in range(40):
        step(simulation, 0)
    crowded = int(simulation.scenes["vehicles"][0])
    simulation.tables.settings["spawn_probability"] = 0.0
    for _ in range(60):
        step(simulation, 0)
    assert simulation.scenes["vehicles"][0] < crowded
    assert crowded > 10


def test_a_traffic_jam_does_not_stop_the_simulation() -> None:
    config = {"spawn_probability": 1.0, "policy_frequency": 15, "initial_vehicle_count": 40}
    simulation = scenes("Intersection", config, 4)
    for _ in range(900):
        simulation.step(np.zeros(4, np.int64))
    assert (simulation.scenes["vehicles"] <= simulation.tables.capacity).all()
    assert np.isfinite(simulation.scenes["x"]).all()
    assert np.isfinite(simulation.seen).all()
