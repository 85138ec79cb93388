"""The observation: highway-env's Kinematics table of the ego and the closest vehicles."""

from __future__ import annotations

import math

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import WIDTH
from policy_inertia.envs.highway.simulator.vehicles import LENGTH, MAX_SPEED, clip

FEATURES = ("presence", "x", "y", "vx", "vy", "cos_h", "sin_h")
_PRESENCE, _X, _Y, _VX, _VY, _COS = range(6)

PERCEPTION = 5.0 * MAX_SPEED
RANGES = {"x": 5.0 * MAX_SPEED, "vx": 2 * MAX_SPEED, "vy": 2 * MAX_SPEED}  # the defaults


@compiled
def observe(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record, table: np.ndarray
) -> None:
    """Fill `table` (vehicles, features): the ego, then the closest vehicles; the rest is zero."""
    ego = scene.ego
    if scene.side_lanes == 0:
        scene.side_lanes = roads[lanes[scene.lane[ego]].road].lanes
    rows = table.shape[0]
    seen = np.empty(rows, np.int64)
    away = np.empty(rows)
    seen[0] = ego
    rows_used = 1
    lane = scene.lane[ego]
    here = scene.along[lane, ego]
    entries = scene.vehicles + (scene.obstacles if settings.include_obstacles else 0)
    for i in range(entries):
        if i == ego:
            continue
        gap = scene.along[lane, i] - here
        visible = gap > -2 * LENGTH or (settings.see_behind and i < scene.vehicles)
        dx, dy = scene.x[i] - scene.x[ego], scene.y[i] - scene.y[ego]
        if not visible or not math.sqrt(dx * dx + dy * dy) < PERCEPTION:
            continue
        gap = abs(gap)
        row = rows_used
        while row > 1 and gap < away[row - 1]:
            if row < rows:
                seen[row], away[row] = seen[row - 1], away[row - 1]
            row -= 1
        if row < rows:
            seen[row], away[row] = i, gap
            rows_used = min(rows_used + 1, rows)
    for row in range(rows):
        for column in range(table.shape[1]):
            table[row, column] = 0.0
            if row < rows_used:
                table[row, column] = _feature(scene, settings, ego, seen[row], column)


@inlined
def _feature(scene: Record, settings: Record, ego: int, i: int, column: int) -> float:
    """Return a feature as it is observed: relative to the ego, scaled and clipped."""
    feature = settings.features[column]
    value = _raw(scene, feature, i)
    if i != ego and not settings.absolute and _X <= feature <= _VY:
        value -= _raw(scene, feature, ego)
    if settings.normalize:
        low, high = settings.features_low[column], settings.features_high[column]
        if settings.scale_y_by_lanes and feature == _Y:
            high = WIDTH * scene.side_lanes
            low = -high
        if low < high:
            value = -1 + (value - low) * 2 / (high - low)
            if settings.clip:
                value = clip(value, -1.0, 1.0)
    return value


@inlined
def _raw(scene: Record, feature: int, i: int) -> float:
    """Return a feature of a vehicle before scaling."""
    if feature == _PRESENCE:
        return 1.0
    if feature == _X:
        return scene.x[i]
    if feature == _Y:
        return scene.y[i]
    if feature == _VX:
        return scene.speed[i] * scene.cos[i]
    if feature == _VY:
        return scene.speed[i] * scene.sin[i]
    return scene.cos[i] if feature == _COS else scene.sin[i]
