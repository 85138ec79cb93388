"""One tick of the simulator: decisions, the right of way, movement, collisions."""

from __future__ import annotations

import math

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import centre, heading_at
from policy_inertia.envs.highway.simulator.records import PREDICTIONS, ROUTE
from policy_inertia.envs.highway.simulator.vehicles import (
    LENGTH,
    WIDTH,
    control_ego,
    drive,
    hold_controls,
    step,
)

_DIAGONAL = math.sqrt(LENGTH**2 + WIDTH**2)
_OBSTACLE = 2.0  # its length and its width
_OBSTACLE_DIAGONAL = math.sqrt(_OBSTACLE**2 + _OBSTACLE**2)

# of a predicted vehicle, when the right of way is decided
_PREDICTION_STEP = 0.25
_HALF_LENGTH, _HALF_WIDTH = 1.5 * LENGTH / 2, 0.9 * WIDTH / 2


@compiled
def tick(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    """Simulate one tick."""
    for i in range(scene.vehicles):
        if i == scene.ego:
            if settings.continuous:
                hold_controls(scene, settings)
            else:
                control_ego(scene, lanes, roads)
        else:
            drive(scene, lanes, roads, settings, i)
    scene.ticks += 1
    if settings.regulation_period > 0 and scene.ticks % settings.regulation_period == 0:
        _decide_right_of_way(scene, lanes)
    for i in range(scene.vehicles):
        if i != scene.ego:
            scene.timer[i] += settings.dt
        step(scene, lanes, i, settings.dt)
    if settings.continuous:
        scene.target_lane[scene.ego] = scene.lane[scene.ego]
    _collide(scene, settings.dt)


@compiled
def _collide(scene: Record, dt: float) -> None:
    entries = scene.vehicles + scene.obstacles
    for i in range(scene.vehicles):
        x, y = scene.x[i], scene.y[i]
        reach = _DIAGONAL + scene.speed[i] * dt
        for j in range(i + 1, entries):
            limit = reach
            if j >= scene.vehicles:
                limit = (_DIAGONAL + _OBSTACLE_DIAGONAL) / 2 + scene.speed[i] * dt
            dx = scene.x[j] - x
            if abs(dx) > limit + 1e-6:  # most pairs; only close ones need the root
                continue
            dy = scene.y[j] - y
            if math.sqrt(dx * dx + dy * dy) > limit:
                continue
            _touch(scene, i, j, dt)


@inlined
def _corner(scene: Record, i: int, number: int) -> tuple[float, float]:
    """Return a corner of a vehicle or an obstacle, in highway-env's order."""
    half_length, half_width = LENGTH / 2, WIDTH / 2
    if i >= scene.vehicles:
        half_length = half_width = _OBSTACLE / 2
    forward = half_length if number == 2 or number == 3 else -half_length
    sideways = half_width if number == 1 or number == 2 else -half_width
    cos, sin = scene.cos[i], scene.sin[i]
    return (
        (cos * forward + (-sin) * sideways) + scene.x[i],
        (sin * forward + cos * sideways) + scene.y[i],
    )


@inlined
def _apart(low_a: float, high_a: float, low_b: float, high_b: float) -> float:
    """Return the distance of two intervals; it is negative if they overlap."""
    return low_b - high_a if low_a < low_b else low_a - high_b


@compiled
def _touch(scene: Record, a: int, b: int, dt: float) -> None:
    """Test two rectangles for a collision, now and one tick ahead, and apply its impact.

    The test is that of separating axes.
    """
    corners = np.empty((2, 5, 2))
    for side, i in enumerate((a, b)):
        for number in range(4):
            corners[side, number, 0], corners[side, number, 1] = _corner(scene, i, number)
        corners[side, 4] = corners[side, 0]
    drift_x = scene.speed[a] * scene.cos[a] * dt - scene.speed[b] * scene.cos[b] * dt
    drift_y = scene.speed[a] * scene.sin[a] * dt - scene.speed[b] * scene.sin[b] * dt
    between = np.empty(2)
    for axis in range(2):
        middle = np.zeros(2)
        for side in range(2):
            total = corners[side, 0, axis]
            for number in range(1, 4):
                total += corners[side, number, axis]
            middle[side] = total / 4
        between[axis] = middle[0] - middle[1]

    now = soon = True
    smallest, push_x, push_y = np.inf, 0.0, 0.0
    for side in range(2):
        for number in range(4):
            normal_x = -corners[side, number + 1, 1] + corners[side, number, 1]
            normal_y = corners[side, number + 1, 0] - corners[side, number, 0]
            norm = math.sqrt(normal_x * normal_x + normal_y * normal_y)
            normal_x, normal_y = normal_x / norm, normal_y / norm
            low_a = low_b = np.inf
            high_a = high_b = -np.inf
            for corner in range(4):
                shadow = corners[0, corner, 0] * normal_x + corners[0, corner, 1] * normal_y
                low_a, high_a = min(low_a, shadow), max(high_a, shadow)
                shadow = corners[1, corner, 0] * normal_x + corners[1, corner, 1] * normal_y
                low_b, high_b = min(low_b, shadow), max(high_b, shadow)
            if _apart(low_a, high_a, low_b, high_b) > 0:
                now = False
            drift = normal_x * drift_x + normal_y * drift_y
            if drift < 0:
                low_a += drift
            else:
                high_a += drift
            apart = _apart(low_a, high_a, low_b, high_b)
            if apart > 0:
                soon = False
            if not now and not soon:
                return
            if abs(apart) < smallest:
                smallest = abs(apart)
                towards_a = between[0] * normal_x + between[1] * normal_y > 0
                push_x = normal_x if towards_a else -normal_x
                push_y = normal_y if towards_a else -normal_y
    if soon:
        push_x, push_y = smallest * push_x, smallest * push_y
        share = 1.0
        if b < scene.vehicles:
            share = 2.0
            scene.impact_x[b], scene.impact_y[b] = -push_x / share, -push_y / share
            scene.impacted[b] = True
        scene.impact_x[a], scene.impact_y[a] = push_x / share, push_y / share
        scene.impacted[a] = True
    if now:
        scene.crashed[a] = scene.crashed[b] = True


@compiled
def _decide_right_of_way(scene: Record, lanes: np.ndarray) -> None:
    """Set the target speed of vehicles that must yield to 0, until the next decision."""
    for i in range(scene.vehicles):
        if scene.yielding[i]:
            scene.target_speed[i] = lanes[scene.lane[i]].speed_limit
            scene.yielding[i] = False
    for i in range(scene.vehicles):
        _predict(scene, lanes, i)
    for i in range(scene.vehicles - 1):
        for j in range(i + 1, scene.vehicles):
            if _in_conflict(scene, i, j):
                yielding = _who_yields(scene, lanes, i, j)
                if yielding != scene.ego:
                    scene.target_speed[yielding] = 0.0
                    scene.yielding[yielding] = True


@compiled
def _predict(scene: Record, lanes: np.ndarray, i: int) -> None:
    """Predict a vehicle's positions at constant speed along its route.

    As in highway-env, the prediction takes the position on the closest lane but begins on the
    route's first lane. The route drops a lane shortly before its end, so the prediction is then one
    lane ahead.
    """
    start = scene.along[scene.lane[i], i]
    for k in range(PREDICTIONS):
        longitudinal = start + scene.speed[i] * (_PREDICTION_STEP * (k + 1))
        head = scene.route_head[i]
        number = scene.route[head, i] if head < ROUTE else scene.lane[i]
        while head < ROUTE - 1 and longitudinal > lanes[number].length:
            longitudinal -= lanes[number].length
            head += 1
            number = scene.route[head, i]
        scene.future[0, k, i], scene.future[1, k, i] = centre(lanes[number], longitudinal)
        scene.future[2, k, i] = heading_at(lanes[number], longitudinal)


@compiled
def _in_conflict(scene: Record, i: int, j: int) -> bool:
    """Return whether two predictions overlap at some time."""
    for k in range(PREDICTIONS):
        dx = scene.future[0, k, j] - scene.future[0, k, i]
        dy = scene.future[1, k, j] - scene.future[1, k, i]
        if math.sqrt(dx * dx + dy * dy) > LENGTH:
            continue
        if _reaches_into(scene, k, i, j) or _reaches_into(scene, k, j, i):
            return True
    return False


@compiled
def _reaches_into(scene: Record, k: int, i: int, j: int) -> bool:
    """Return whether one of nine points of rectangle `i` is in rectangle `j`.

    highway-env rotates the point by the rectangle's angle instead of back by it; so do we.
    """
    cos_i, sin_i = math.cos(scene.future[2, k, i]), math.sin(scene.future[2, k, i])
    cos_j, sin_j = math.cos(scene.future[2, k, j]), math.sin(scene.future[2, k, j])
    for forward in (-_HALF_LENGTH, 0.0, _HALF_LENGTH):
        for sideways in (-_HALF_WIDTH, 0.0, _HALF_WIDTH):
            x = (cos_i * forward + (-sin_i) * sideways) + scene.future[0, k, i]
            y = (sin_i * forward + cos_i * sideways) + scene.future[1, k, i]
            dx, dy = x - scene.future[0, k, j], y - scene.future[1, k, j]
            if (
                abs(cos_j * dx + (-sin_j) * dy) <= _HALF_LENGTH
                and abs(sin_j * dx + cos_j * dy) <= _HALF_WIDTH
            ):
                return True
    return False


@compiled
def _who_yields(scene: Record, lanes: np.ndarray, i: int, j: int) -> int:
    """Return the vehicle on the lane of lower priority, or the one behind if they are equal."""
    priority_i, priority_j = lanes[scene.lane[i]].priority, lanes[scene.lane[j]].priority
    if priority_i != priority_j:
        return j if priority_i > priority_j else i
    dx, dy = scene.x[j] - scene.x[i], scene.y[j] - scene.y[i]
    ahead_of_i = scene.cos[i] * dx + scene.sin[i] * dy
    ahead_of_j = scene.cos[j] * (-dx) + scene.sin[j] * (-dy)
    return i if ahead_of_i > ahead_of_j else j
