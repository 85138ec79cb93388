"""What a batch of scenes does in every task."""

import numpy as np
import pytest

from policy_inertia.envs.highway import TASKS, configuration
from policy_inertia.envs.highway.simulator.records import CAPACITIES
from policy_inertia.envs.highway.simulator.simulation import Simulation
from tests.support.highway_scenes import empty_scene, scenes, step


@pytest.mark.parametrize(
    ("task", "duration"), [("LaneChange", 70), ("Merge", 25), ("Intersection", 25), ("TwoWay", 25)]
)
def test_an_episode_is_truncated_after_its_duration(task: str, duration: int) -> None:
    config = {"spawn_probability": 0.0} if task == "Intersection" else None
    simulation = empty_scene(task, config)
    simulation.scenes["time"] = duration - 2
    assert not step(simulation, 1)["truncated"]
    outcome = step(simulation, 1)
    assert outcome["truncated"]
    assert not outcome["terminated"]


def test_a_scene_has_one_of_three_sizes() -> None:
    task = TASKS["LaneChange"]
    sizes = [
        Simulation(task, configuration(task, {"vehicles_count": n}), 1).tables.capacity
        for n in (94, 95, 300)
    ]
    assert sizes == list(CAPACITIES)


@pytest.mark.parametrize("task", TASKS)
def test_adopting_a_scene_changes_no_vehicle(task: str) -> None:
    simulation = scenes(task)
    step(simulation, 1)
    before = simulation.scenes.copy()
    observation = simulation.seen.copy()
    simulation.adopt(np.array([1]))
    for name in ("x", "y", "heading", "speed", "lane", "vehicles", "rng"):
        np.testing.assert_array_equal(simulation.scenes[name], before[name])
    if task != "Intersection":  # there vehicles come and leave after the observation
        np.testing.assert_array_equal(simulation.seen, observation)
