"""Highway scenes made by hand: put vehicles where a test needs them."""

from typing import Any

import numpy as np

from policy_inertia.envs.highway import TASKS, configuration
from policy_inertia.envs.highway.simulator import vehicles
from policy_inertia.envs.highway.simulator.simulation import Simulation

LEFT, IDLE, RIGHT, FASTER, SLOWER = range(5)


def scenes(task: str, config: dict[str, Any] | None = None, n: int = 1) -> Simulation:
    """Return `n` scenes with the paper's settings, begun with the seeds 0 to n - 1."""
    simulation = Simulation(TASKS[task], configuration(TASKS[task], config), n)
    simulation.begin(np.ones(n, bool), list(range(n)))
    return simulation


def empty_scene(task: str, config: dict[str, Any] | None = None) -> Simulation:
    """Return a scene with the ego alone."""
    simulation = scenes(task, config)
    scene = simulation.scenes[0]
    ego = int(scene["ego"])
    if ego != 0:
        vehicles.move_entry(scene, ego, 0)
    simulation.scenes["vehicles"], simulation.scenes["obstacles"] = 1, 0
    simulation.scenes["ego"] = 0
    return simulation


def put(simulation: Simulation, i: int, x: float, y: float, heading: float, speed: float) -> None:
    """Make entry `i` a new vehicle at this position; the ego keeps its target speed."""
    scene = simulation.scenes[0]
    target_speed = scene["target_speed"][i]
    lanes = simulation.tables.network.lanes
    vehicles.place(scene, lanes, i, x, y, heading, speed)
    if i == scene["ego"]:
        scene["target_speed"][i] = target_speed


def step(simulation: Simulation, action: int) -> Any:
    """Take one action and return the outcome."""
    simulation.step(np.array([action]))
    return simulation.outcomes[0]
