"""highway-env's `ContinuousAction`: from numbers between -1 and 1 to acceleration and steering.

This is NumPy and not compiled, because the result depends on the type of the action: highway-env
scales an action of float32 in float32, and so do we.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policy_inertia.envs.highway.simulator.vehicles import MAX_SPEED

CONTINUOUS: dict[str, Any] = {
    "type": "ContinuousAction",
    "acceleration_range": [-5.0, 5.0],
    "steering_range": [-math.pi / 4, math.pi / 4],
    "speed_range": None,
    "longitudinal": True,
    "lateral": True,
    "dynamical": False,
    "clip": True,
}
"""The settings with highway-env's values."""


def is_continuous(action: dict[str, Any]) -> bool:
    """Return whether the settings of the action are those of continuous actions."""
    return action["type"] == CONTINUOUS["type"]


def speed_range(action: dict[str, Any]) -> tuple[float, float]:
    """Return the range of speeds outside of which the ego is slowed down."""
    low, high = action["speed_range"] or (-MAX_SPEED, MAX_SPEED)
    return float(low), float(high)


def control_names(action: dict[str, Any]) -> tuple[str, ...]:
    """Return what each number of an action controls."""
    names = {"acceleration": action["longitudinal"], "steering": action["lateral"]}
    return tuple(name for name, used in names.items() if used)


def controls(action: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations and the steering angles of actions of shape (n, numbers)."""
    if action["clip"]:
        values = np.clip(values, -1, 1)
    scaled = {"acceleration": np.zeros(len(values)), "steering": np.zeros(len(values))}
    for column, name in enumerate(control_names(action)):
        low, high = map(float, action[f"{name}_range"])
        # the arithmetic of highway-env's `lmap`
        scaled[name] = low + (values[:, column] + 1) * (high - low) / 2
    return scaled["acceleration"], scaled["steering"]
