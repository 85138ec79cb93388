"""Put vehicles on the road and take them off: the parts of which tasks make their first scene."""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, inlined
from policy_inertia.envs.highway.simulator.vehicles import move_entry, place, speed_index


@inlined
def add(scene: Record, lanes: np.ndarray, x: float, y: float, heading: float, speed: float) -> int:
    """Add a vehicle at the end of the list and return its place there."""
    i = scene.vehicles
    place(scene, lanes, i, x, y, heading, speed)
    scene.vehicles += 1
    return i


@inlined
def make_ego(scene: Record, settings: Record, i: int) -> None:
    """Make vehicle `i` the ego; it wants the target speed that is closest to its speed.

    With continuous actions it wants none, which counts as 0 for the traffic, as in highway-env.
    """
    scene.ego = i
    if settings.continuous:
        scene.target_speed[i] = 0.0
        return
    scene.speed_index = speed_index(settings, scene.speed[i])
    scene.target_speed[i] = settings.target_speeds[scene.speed_index]


@inlined
def draw_count(scene: Record, settings: Record) -> int:
    """Draw the number of other vehicles; a fixed number takes no draw."""
    return settings.vehicles_low + generator.integers(
        scene.rng, settings.vehicles_high - settings.vehicles_low + 1
    )


@inlined
def move_up(scene: Record, i: int, free: int) -> int:
    """Move vehicle `i` to the first free place of the list and return the next free place.

    Called for all vehicles that stay, in order, this closes the gaps that the others leave.
    """
    if free != i:
        move_entry(scene, i, free)
        if scene.ego == i:
            scene.ego = free
    return free + 1
