"""Compiled code stays inside its arrays; `make test-bounds` checks every index."""

import os
from typing import Any

import numpy as np
import pytest

from policy_inertia.envs.highway import TASKS, TrafficVectorEnv
from policy_inertia.envs.highway.simulator import vehicles
from tests.support.highway_scenes import scenes

CROWDED: dict[str, dict[str, Any]] = {
    "LaneChange": {"vehicles_count": 94, "lanes_count": 20, "vehicles_density": 10},
    "Merge": {"vehicles_count": 50},
    "Intersection": {"initial_vehicle_count": 50, "spawn_probability": 1.0},
    "TwoWay": {"vehicles_count": 15, "idm_speed_limit": False},
}


@pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="only `make test-bounds` checks indices"
)
def test_an_index_outside_an_array_is_noticed() -> None:
    """Without this negative control the other test would prove nothing."""
    simulation = scenes("Merge")
    lanes = simulation.tables.network.lanes
    with pytest.raises(IndexError):
        vehicles.place(simulation.scenes[0], lanes, simulation.tables.capacity, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("task", TASKS)
def test_a_full_road_can_be_simulated(task: str) -> None:
    envs = TrafficVectorEnv(4, task, CROWDED[task] | {"duration": 1e9})
    envs.reset(seed=0)
    simulation = envs.simulation
    draw = np.random.default_rng(0)
    for _ in range(60):
        simulation.step(draw.integers(simulation.actions_count, size=4))
        assert (simulation.scenes["vehicles"] < simulation.tables.capacity).all()
        assert np.isfinite(simulation.seen).all()
        assert np.isfinite(simulation.outcomes["reward"]).all()
