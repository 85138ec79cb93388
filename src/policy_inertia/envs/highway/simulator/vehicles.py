"""Vehicles: bicycle kinematics, the ego's controllers, and the traffic's IDM and MOBIL.

A vehicle is an index into the arrays of a scene (`records.py`).
"""

from __future__ import annotations

import math

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import (
    MAX_LANES,
    coordinates,
    distance,
    heading_at,
    holds,
    lane_after,
    reachable,
    wrap,
)
from policy_inertia.envs.highway.simulator.records import FASTER, LEFT, NOBODY, RIGHT, ROUTE, SLOWER

# metres, seconds and radians, as in the whole simulator
LENGTH, WIDTH = 5.0, 2.0
MAX_SPEED = 40.0

# the controllers
_GAIN_SPEED, _GAIN_LATERAL, _GAIN_HEADING = 1 / 0.6, 1 / 0.6, 1 / 0.2
_PURSUIT = 0.5 * 0.2  # seconds ahead at which the lane's heading is looked up
_MAX_STEERING = math.pi / 3

# IDM; Lane Change and Intersection draw its exponent delta for each vehicle
MAX_ACCELERATION = 6.0
TIME_WANTED = 1.5
DELTA, DELTA_LOW, DELTA_HIGH = 4.0, 3.5, 4.5

# MOBIL: seconds between decisions, the gain that a change needs, the braking that it may impose
CHANGE_DELAY, CHANGE_GAIN, CHANGE_BRAKING = 1.0, 0.2, 2.0


@inlined
def not_zero(x: float) -> float:
    """Move a number away from zero, so that one can divide by it."""
    if abs(x) > 1e-2:
        return x
    return 1e-2 if x >= 0 else -1e-2


@inlined
def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@compiled
def locate(scene: Record, lanes: np.ndarray, i: int) -> None:
    """Compute a vehicle's coordinates on every lane, and the lane that it is closest to."""
    x, y, heading = scene.x[i], scene.y[i], scene.heading[i]
    nearest = np.inf
    for number in range(len(lanes)):
        lane = lanes[number]
        longitudinal, lateral = coordinates(lane, x, y)
        scene.along[number, i] = longitudinal
        scene.beside[number, i] = lateral
        away = distance(lane, longitudinal, lateral)
        if away < nearest:  # the angle can only increase it
            away += abs(wrap(heading - heading_at(lane, longitudinal)))
            if away < nearest:
                nearest = away
                scene.lane[i] = number


@compiled
def settle(scene: Record, lanes: np.ndarray) -> None:
    """Compute all coordinates on the lanes after a scene was written from outside.

    A vehicle keeps the lane that was written.
    """
    for i in range(scene.vehicles + scene.obstacles):
        lane = scene.lane[i]
        scene.cos[i], scene.sin[i] = math.cos(scene.heading[i]), math.sin(scene.heading[i])
        locate(scene, lanes, i)
        if i < scene.vehicles:
            scene.lane[i] = lane


@compiled
def place(
    scene: Record, lanes: np.ndarray, i: int, x: float, y: float, heading: float, speed: float
) -> None:
    """Make entry `i` a new vehicle, with the values of highway-env's constructors."""
    scene.x[i], scene.y[i], scene.heading[i], scene.speed[i] = x, y, heading, speed
    scene.cos[i], scene.sin[i] = math.cos(heading), math.sin(heading)
    scene.steering[i] = scene.acceleration[i] = 0.0
    scene.crashed[i] = scene.impacted[i] = scene.yielding[i] = False
    scene.target_speed[i] = speed
    scene.delta[i] = DELTA
    scene.timer[i] = ((x + y) * math.pi) % CHANGE_DELAY
    scene.changes_lanes[i] = True
    scene.route_head[i] = ROUTE
    locate(scene, lanes, i)
    scene.target_lane[i] = scene.lane[i]


@compiled
def move_entry(scene: Record, source: int, target: int) -> None:
    """Copy a vehicle to another entry."""
    for values in (
        scene.x,
        scene.y,
        scene.heading,
        scene.cos,
        scene.sin,
        scene.speed,
        scene.steering,
        scene.acceleration,
        scene.impact_x,
        scene.impact_y,
        scene.target_speed,
        scene.delta,
        scene.timer,
    ):
        values[target] = values[source]
    for whole in (scene.lane, scene.target_lane, scene.route_head):
        whole[target] = whole[source]
    for flags in (scene.crashed, scene.impacted, scene.changes_lanes, scene.yielding):
        flags[target] = flags[source]
    for table in (scene.along, scene.beside):
        for lane in range(MAX_LANES):
            table[lane, target] = table[lane, source]
    for leg in range(ROUTE):
        scene.route[leg, target] = scene.route[leg, source]


@compiled
def step(scene: Record, lanes: np.ndarray, i: int, dt: float) -> None:
    """Move a vehicle by bicycle kinematics; a crashed one brakes, and an impact moves it."""
    speed = scene.speed[i]
    steering, acceleration = scene.steering[i], scene.acceleration[i]
    if scene.crashed[i]:
        steering, acceleration = 0.0, -1.0 * speed
    if speed > MAX_SPEED:
        acceleration = min(acceleration, MAX_SPEED - speed)
    elif speed < -MAX_SPEED:
        acceleration = max(acceleration, -MAX_SPEED - speed)
    scene.steering[i], scene.acceleration[i] = steering, acceleration
    if steering == 0.0:  # the most frequent case needs no angles
        scene.x[i] += speed * scene.cos[i] * dt
        scene.y[i] += speed * scene.sin[i] * dt
    else:
        heading = scene.heading[i]
        slip = math.atan(0.5 * math.tan(steering))
        scene.x[i] += speed * math.cos(heading + slip) * dt
        scene.y[i] += speed * math.sin(heading + slip) * dt
        heading += speed * math.sin(slip) / (LENGTH / 2) * dt
        scene.heading[i] = heading
        scene.cos[i], scene.sin[i] = math.cos(heading), math.sin(heading)
    if scene.impacted[i]:
        scene.x[i] += scene.impact_x[i]
        scene.y[i] += scene.impact_y[i]
        scene.crashed[i] = True
        scene.impacted[i] = False
    scene.speed[i] = speed + acceleration * dt
    locate(scene, lanes, i)


@inlined
def _steer(scene: Record, lanes: np.ndarray, i: int) -> float:
    """Return the steering angle that follows the middle of the target lane."""
    target = scene.target_lane[i]
    speed = scene.speed[i]
    ahead = heading_at(lanes[target], scene.along[target, i] + speed * _PURSUIT)
    lateral = scene.beside[target, i]
    if lateral == 0.0 and ahead == scene.heading[i]:
        return 0.0
    lateral_speed = -_GAIN_LATERAL * lateral
    approach = math.asin(clip(lateral_speed / not_zero(speed), -1.0, 1.0))
    reference = ahead + clip(approach, -math.pi / 4, math.pi / 4)
    rate = _GAIN_HEADING * wrap(reference - scene.heading[i])
    slip = math.asin(clip(LENGTH / 2 / not_zero(speed) * rate, -1.0, 1.0))
    return clip(math.atan(2 * math.tan(slip)), -_MAX_STEERING, _MAX_STEERING)


@inlined
def _follow_road(scene: Record, lanes: np.ndarray, roads: np.ndarray, i: int) -> None:
    """At the end of the target lane, choose the next one, along the route if there is one."""
    current = scene.target_lane[i]
    longitudinal = scene.along[current, i]
    if not longitudinal > lanes[current].length - LENGTH / 2:
        return
    planned = -1
    head = scene.route_head[i]
    if head < ROUTE and lanes[scene.route[head, i]].road == lanes[current].road:
        head += 1
        scene.route_head[i] = head
    if head < ROUTE:
        road = lanes[scene.route[head, i]].road
        if roads[road].origin == roads[lanes[current].road].destination:
            planned = scene.route[head, i]
    scene.target_lane[i] = lane_after(lanes, roads, current, planned, longitudinal)


@inlined
def speed_index(settings: Record, speed: float) -> np.int64:
    """Return the index of the target speed that is closest to a speed (half to even)."""
    last = settings.target_speeds_count - 1
    slowest = settings.target_speeds[0]
    share = (speed - slowest) / (settings.target_speeds[last] - slowest)
    return np.int64(clip(np.rint(share * last), 0.0, float(last)))


@compiled
def decide(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record, action: int
) -> None:
    """Take the ego's meta-action: change its target speed or its target lane."""
    ego = scene.ego
    if action in (FASTER, SLOWER):
        index = speed_index(settings, scene.speed[ego]) + (1 if action == FASTER else -1)
        scene.speed_index = min(max(index, 0), settings.target_speeds_count - 1)
        scene.target_speed[ego] = settings.target_speeds[scene.speed_index]
    _follow_road(scene, lanes, roads, ego)
    if action in (LEFT, RIGHT):
        target = scene.target_lane[ego]
        number = lanes[target].number + (1 if action == RIGHT else -1)
        road = roads[lanes[target].road]
        candidate = road.first + min(max(number, 0), road.lanes - 1)
        if reachable(lanes[candidate], scene.along[candidate, ego], scene.beside[candidate, ego]):
            scene.target_lane[ego] = candidate


@compiled
def control_ego(scene: Record, lanes: np.ndarray, roads: np.ndarray) -> None:
    """Steer the ego to its target lane and accelerate it to its target speed."""
    ego = scene.ego
    _follow_road(scene, lanes, roads, ego)
    scene.steering[ego] = _steer(scene, lanes, ego)
    scene.acceleration[ego] = _GAIN_SPEED * (scene.target_speed[ego] - scene.speed[ego])


@compiled
def hold_controls(scene: Record, settings: Record) -> None:
    """Keep a continuous action's controls, but bring the ego back into its range of speeds."""
    ego = scene.ego
    speed = scene.speed[ego]
    if speed > settings.ego_speed_high:
        slowing = settings.ego_speed_high - speed
        scene.acceleration[ego] = min(scene.acceleration[ego], slowing)
    elif speed < settings.ego_speed_low:
        slowing = settings.ego_speed_low - speed
        scene.acceleration[ego] = max(scene.acceleration[ego], slowing)


@inlined
def neighbours(scene: Record, lanes: np.ndarray, i: int, number: int) -> tuple[int, int]:
    """Return the vehicles ahead and behind on a lane; a vehicle between two lanes is on both."""
    lane = lanes[number]
    along, beside = scene.along[number], scene.beside[number]
    here = along[i]
    front = rear = NOBODY
    front_at, rear_at = np.inf, -np.inf
    for j in range(scene.vehicles + scene.obstacles):
        there = along[j]
        if j != i and holds(lane, there, beside[j], 1.0):
            if here <= there:
                if there <= front_at:
                    front, front_at = j, there
            elif there > rear_at:
                rear, rear_at = j, there
    return front, rear


@inlined
def _wanted_gap(scene: Record, settings: Record, i: int, front: int) -> float:
    """Return the distance that the IDM wants between `i` and `front`."""
    speed = scene.speed[i]
    cos, sin = scene.cos[i], scene.sin[i]
    approach = (speed * cos - scene.speed[front] * scene.cos[front]) * cos + (
        speed * sin - scene.speed[front] * scene.sin[front]
    ) * sin
    comfort = -settings.comfort_acceleration * settings.comfort_braking
    return (
        settings.distance_wanted + speed * TIME_WANTED + speed * approach / (2 * math.sqrt(comfort))
    )


@inlined
def _gap(scene: Record, i: int, other: int) -> float:
    """Return the distance from `i` to `other` along the lane of `i`."""
    lane = scene.lane[i]
    return scene.along[lane, other] - scene.along[lane, i]


@compiled
def _idm(
    scene: Record, lanes: np.ndarray, settings: Record, judge: int, i: int, front: int
) -> float:
    """Return the IDM's acceleration of `i` behind `front`, with the exponent of `judge`."""
    if i == NOBODY or i >= scene.vehicles:
        return 0.0
    target = scene.target_speed[i]
    if settings.idm_speed_limit:
        target = clip(target, 0.0, lanes[scene.lane[i]].speed_limit)
    ratio = max(scene.speed[i], 0.0) / abs(not_zero(target))
    acceleration = settings.comfort_acceleration * (1 - ratio ** scene.delta[judge])
    if front != NOBODY:
        squeeze = _wanted_gap(scene, settings, i, front) / not_zero(_gap(scene, i, front))
        acceleration -= settings.comfort_acceleration * (squeeze * squeeze)
    return acceleration


@compiled
def _mobil(scene: Record, lanes: np.ndarray, settings: Record, i: int, candidate: int) -> bool:
    """Return whether a lane is worth changing to without hard braking behind.

    highway-env's politeness is 0. Its rule for routes needs roads with several lanes and routes,
    which no task has.
    """
    ahead, behind = neighbours(scene, lanes, i, candidate)
    if _idm(scene, lanes, settings, i, behind, i) < -CHANGE_BRAKING:
        return False
    ahead_now, _ = neighbours(scene, lanes, i, scene.lane[i])
    gain = _idm(scene, lanes, settings, i, i, ahead) - _idm(scene, lanes, settings, i, i, ahead_now)
    return gain >= CHANGE_GAIN


@compiled
def _choose_lane(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record, i: int
) -> None:
    """Choose another vehicle's target lane by MOBIL."""
    lane, target = scene.lane[i], scene.target_lane[i]
    if lane != target:
        if lanes[lane].road != lanes[target].road:
            return
        for j in range(scene.vehicles):  # give way to a vehicle that changes to the same lane
            if j != i and scene.lane[j] != target and scene.target_lane[j] == target:
                gap = _gap(scene, i, j)
                if 0 < gap < _wanted_gap(scene, settings, i, j):
                    scene.target_lane[i] = lane
                    return
        return
    if not scene.timer[i] > CHANGE_DELAY:
        return
    scene.timer[i] = 0.0
    road = roads[lanes[lane].road]
    for candidate in (lane - 1, lane + 1):
        if (
            road.first <= candidate < road.first + road.lanes
            and reachable(lanes[candidate], scene.along[candidate, i], scene.beside[candidate, i])
            and abs(scene.speed[i]) >= 1
            and _mobil(scene, lanes, settings, i, candidate)
        ):
            scene.target_lane[i] = candidate


@compiled
def drive(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record, i: int) -> None:
    """Choose the lane, the steering and the acceleration of another vehicle."""
    if scene.crashed[i]:
        return
    _follow_road(scene, lanes, roads, i)
    if scene.changes_lanes[i]:
        _choose_lane(scene, lanes, roads, settings, i)
    scene.steering[i] = _steer(scene, lanes, i)
    lane, target = scene.lane[i], scene.target_lane[i]
    front, _ = neighbours(scene, lanes, i, lane)
    acceleration = _idm(scene, lanes, settings, i, i, front)
    if lane != target:
        front, _ = neighbours(scene, lanes, i, target)
        acceleration = min(acceleration, _idm(scene, lanes, settings, i, i, front))
    scene.acceleration[i] = clip(acceleration, -MAX_ACCELERATION, MAX_ACCELERATION)
