"""Scenes made by hand: put vehicles where a test needs them."""

from typing import Any

import numpy as np

from policy_inertia.envs.highway import TASKS, configuration
from policy_inertia.envs.highway.simulator import vehicles
from policy_inertia.envs.highway.simulator.simulation import Simulation


def scene(task: str, config: dict[str, Any] | None = None, seed: int = 0) -> Simulation:
    """One scene of the paper's task, begun."""
    spec = TASKS[task]
    simulation = Simulation(spec, configuration(spec, config), 1)
    simulation.begin(np.ones(1, bool), [seed])
    return simulation


def put(simulation: Simulation, i: int, x: float, y: float, heading: float, speed: float) -> None:
    """Make entry `i` a new vehicle there; the ego keeps its targets."""
    one = simulation.scenes[0]
    target_speed = one["target_speed"][i]
    network = simulation.tables.network
    vehicles.place(simulation.scenes[0], network.lanes, i, x, y, heading, speed)
    if i == one["ego"]:
        one["target_speed"][i] = target_speed


def alone(simulation: Simulation) -> Simulation:
    """Take everybody but the ego off the road."""
    one = simulation.scenes[0]
    ego = int(one["ego"])
    if ego != 0:
        vehicles.move_entry(simulation.scenes[0], ego, 0)
    simulation.scenes["vehicles"], simulation.scenes["obstacles"] = 1, 0
    simulation.scenes["ego"] = 0
    return simulation


def step(simulation: Simulation, action: int) -> Any:
    simulation.step(np.array([action]))
    return simulation.outcomes[0]
