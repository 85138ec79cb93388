"""Terms that several tasks have in their rewards."""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, inlined
from policy_inertia.envs.highway.simulator.lanes import holds


@inlined
def normalized(value: float, low: float, high: float) -> float:
    """Map [low, high] to [0, 1], with the arithmetic of highway-env's `lmap`."""
    return (value - low) * 1 / (high - low)


@inlined
def speed_share(scene: Record, settings: Record, speed: float) -> float:
    """Map a speed to [0, 1] over the rewarded range, or take the target speed's index instead."""
    if settings.speed_reward_by_index:
        return scene.speed_index / (settings.target_speeds_count - 1)
    return normalized(speed, settings.reward_speed_low, settings.reward_speed_high)


@inlined
def changes_lane(action: int) -> float:
    """Return 1 for LEFT and RIGHT, even if the ego cannot change lanes."""
    return 1.0 if action in (0, 2) else 0.0


@inlined
def on_road(scene: Record, lanes: np.ndarray) -> bool:
    """Return whether the ego is on its lane."""
    lane = scene.lane[scene.ego]
    return holds(lanes[lane], scene.along[lane, scene.ego], scene.beside[lane, scene.ego], 0.0)
