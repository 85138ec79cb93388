"""Who is on the road: each task's first state, and who comes and leaves at the intersection."""

from __future__ import annotations

import math

import numpy as np

from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import centre, heading_at
from policy_inertia.envs.highway.simulator.records import (
    INTERSECTION,
    LANE_CHANGE,
    MERGE,
    NOBODY,
    TWO_WAY,
)
from policy_inertia.envs.highway.simulator.traffic import tick
from policy_inertia.envs.highway.simulator.vehicles import (
    DELTA_HIGH,
    DELTA_LOW,
    LENGTH,
    move_entry,
    place,
    speed_index,
)

# lanes of the networks, in the order of their tables
_MERGE_RIGHT, _MERGING, _RAMP = 1, 4, 7
_TWO_WAY_RIGHT, _ONCOMING = 1, 2


@compiled
def begin(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, spawns: np.ndarray
) -> None:
    """The first state of an episode, drawn from the scene's generator as upstream draws it."""
    scene.vehicles = scene.obstacles = scene.ticks = scene.side_lanes = scene.speed_index = 0
    scene.ego = NOBODY
    scene.time = 0.0
    scene.running = True
    if task.kind == LANE_CHANGE:
        _begin_lane_change(scene, lanes, task)
    elif task.kind == MERGE:
        _begin_merge(scene, lanes, task)
    elif task.kind == TWO_WAY:
        _begin_two_way(scene, lanes, task)
    else:
        _begin_intersection(scene, lanes, roads, task, spawns)


@compiled
def turn_over(scene: Record, lanes: np.ndarray, task: Record) -> None:
    """At the intersection, after each decision: who is leaving is gone, and someone may come."""
    if task.kind != INTERSECTION:
        return
    kept = 0
    for i in range(scene.vehicles):
        lane = scene.lane[i]
        if (
            i == scene.ego
            or not lanes[lane].leaving
            or scene.along[lane, i] < lanes[lane].length - 4 * LENGTH
        ):
            kept = _keep(scene, i, kept)
    scene.vehicles = kept
    _spawn(scene, lanes, 0.0, 1.0, 1.0, task.spawn_probability, False)


@inlined
def _add(scene: Record, lanes: np.ndarray, x: float, y: float, heading: float, speed: float) -> int:
    i = scene.vehicles
    place(scene, lanes, i, x, y, heading, speed)
    scene.vehicles += 1
    return i


@inlined
def _keep(scene: Record, i: int, kept: int) -> int:
    """Close the gap in the list that those who were taken out before `i` have left."""
    if kept != i:
        move_entry(scene, i, kept)
        if scene.ego == i:
            scene.ego = kept
    return kept + 1


@inlined
def _make_ego(scene: Record, task: Record, i: int) -> None:
    scene.ego = i
    scene.speed_index = speed_index(task, scene.speed[i])
    scene.target_speed[i] = task.target_speeds[scene.speed_index]


@inlined
def _draw_count(scene: Record, task: Record) -> int:
    """How many others; no draw where the number is fixed."""
    return task.vehicles_low + generator.integers(
        scene.rng, task.vehicles_high - task.vehicles_low + 1
    )


@compiled
def _begin_lane_change(scene: Record, lanes: np.ndarray, task: Record) -> None:
    others = _draw_count(scene, task)
    count = len(lanes)
    scale = math.exp(-5 / 40 * count)
    for k in range(others + 1):
        number = task.initial_lane_id if k == 0 else -1
        if number < 0:
            number = generator.integers(scene.rng, count)
        lane = lanes[number]
        spacing, speed = task.ego_spacing, 25.0
        if k > 0:
            spacing = 1 / task.vehicles_density
            speed = generator.uniform(scene.rng, 0.7 * lane.speed_limit, 0.8 * lane.speed_limit)
        offset = spacing * (12 + 1.0 * speed) * scale
        at = 3 * offset
        if k > 0:
            at = -np.inf
            for j in range(k):
                at = max(at, scene.along[number, j])
        at += offset * generator.uniform(scene.rng, 0.9, 1.1)
        x, y = centre(lane, at)
        i = _add(scene, lanes, x, y, heading_at(lane, at), speed)
        if k == 0:
            _make_ego(scene, task, i)
        else:
            scene.delta[i] = generator.uniform(scene.rng, DELTA_LOW, DELTA_HIGH)


@compiled
def _begin_merge(scene: Record, lanes: np.ndarray, task: Record) -> None:
    """Upstream's ego, three others and the ramp's; any more as merge-generic places them."""
    others = _draw_count(scene, task)
    x, y = centre(lanes[_MERGE_RIGHT], 30.0)
    _make_ego(scene, task, _add(scene, lanes, x, y, 0.0, 30.0))
    for at, speed in ((90.0, 29.0), (70.0, 31.0), (5.0, 31.5)):
        lane = lanes[generator.integers(scene.rng, 2)]
        x, y = centre(lane, at + generator.uniform(scene.rng, -5.0, 5.0))
        _add(scene, lanes, x, y, 0.0, speed + generator.uniform(scene.rng, -1.0, 1.0))
    x, y = centre(lanes[_RAMP], 110.0)
    i = _add(scene, lanes, x, y, 0.0, 20.0)
    scene.target_speed[i] = 30.0
    for _ in range(others - 4):
        _squeeze_in(scene, lanes)
    # the obstacle at the end of the merging lane, behind the vehicles in the list
    x, y = centre(lanes[_MERGING], 80.0)
    place(scene, lanes, scene.vehicles, x, y, 0.0, 0.0)
    scene.obstacles = 1


@compiled
def _squeeze_in(scene: Record, lanes: np.ndarray) -> None:
    """Ten tries to find a place 15 m from everybody on the lane; on a full road there is none."""
    for _ in range(10):
        number = generator.integers(scene.rng, 2)
        at = generator.uniform(scene.rng, 0.0, 150.0)
        free = True
        for j in range(scene.vehicles):
            if scene.lane[j] == number and abs(at - scene.along[number, j]) <= 15.0:
                free = False
        if free:
            x, y = centre(lanes[number], at)
            speed = 30.0 + generator.uniform(scene.rng, -2.0, 2.0)
            _add(scene, lanes, x, y, 0.0, speed)
            return


@compiled
def _begin_two_way(scene: Record, lanes: np.ndarray, task: Record) -> None:
    """Upstream's three ahead and two oncoming, or more of both in the same ratio and spacing."""
    others = _draw_count(scene, task)
    ahead = (3 * others + 2) // 5
    right, oncoming = lanes[_TWO_WAY_RIGHT], lanes[_ONCOMING]
    x, y = centre(right, 30.0)
    _make_ego(scene, task, _add(scene, lanes, x, y, 0.0, 30.0))
    for k in range(ahead):
        x, y = centre(right, 70.0 + 40.0 * float(k) + 10.0 * generator.normal(scene.rng))
        speed = 24.0 + 2.0 * generator.normal(scene.rng)
        i = _add(scene, lanes, x, y, right.heading, speed)
        scene.changes_lanes[i] = False
    for k in range(others - ahead):
        x, y = centre(oncoming, 200.0 + 100.0 * float(k) + 10.0 * generator.normal(scene.rng))
        speed = 20.0 + 5.0 * generator.normal(scene.rng)
        i = _add(scene, lanes, x, y, oncoming.heading, speed)
        scene.changes_lanes[i] = False
        scene.target_lane[i] = _ONCOMING


@compiled
def _begin_intersection(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, spawns: np.ndarray
) -> None:
    """Traffic that has driven for three seconds, a challenger going straight on, and the ego."""
    for k in range(len(spawns) - 1):
        _spawn(scene, lanes, spawns[k], 1.0, 1.0, 0.6, False)
    for _ in range(task.warm_up):
        tick(scene, lanes, roads, task)
    _spawn(scene, lanes, 60.0, 0.1, 0.0, 1.0, True)
    destination = task.destination
    if destination < 0:
        destination = 1 + generator.integers(scene.rng, 3)
    way_in = lanes[_way_in(0)]
    x, y = centre(way_in, 60.0 + 5.0 * (1.0 + generator.normal(scene.rng)))
    ego = _add(scene, lanes, x, y, way_in.heading, way_in.speed_limit)
    _plan_route(scene, ego, 0, destination)
    _make_ego(scene, task, ego)
    kept = 0
    for i in range(scene.vehicles):
        dx, dy = scene.x[i] - x, scene.y[i] - y
        if i == scene.ego or not math.sqrt(dx * dx + dy * dy) < 20:
            kept = _keep(scene, i, kept)
    scene.vehicles = kept


@inlined
def _way_in(corner: int) -> int:
    return 5 * corner


@inlined
def _plan_route(scene: Record, i: int, origin: int, destination: int) -> None:
    """In, across and out; a corner's five lanes are: in, right, left, straight on, a way out."""
    turn = (destination - origin) % 4
    scene.route[0, i] = 5 * origin
    scene.route[1, i] = 5 * origin + (1 if turn == 3 else 2 if turn == 1 else 3)
    scene.route[2, i] = 5 * ((destination + 1) % 4) + 4
    scene.route_head[i] = 0


@compiled
def _spawn(
    scene: Record,
    lanes: np.ndarray,
    at: float,
    position_deviation: float,
    speed_deviation: float,
    probability: float,
    go_straight: bool,
) -> None:
    """Someone comes, from a random side to a random other one, unless the place is taken."""
    rng = scene.rng
    if generator.random(rng) > probability:
        return
    origin, destination = generator.two_of_four(rng)
    if go_straight:
        destination = (origin + 2) % 4
    lane = lanes[_way_in(origin)]
    at = at + 5.0 + generator.normal(rng) * position_deviation
    speed = 8.0 + generator.normal(rng) * speed_deviation
    x, y = centre(lane, at)
    for i in range(scene.vehicles):
        dx, dy = scene.x[i] - x, scene.y[i] - y
        if math.sqrt(dx * dx + dy * dy) < 15:
            return
    if scene.vehicles == len(scene.x):  # more than the four roads have room for
        return
    i = _add(scene, lanes, x, y, heading_at(lane, at), speed)
    _plan_route(scene, i, origin, destination)
    scene.delta[i] = generator.uniform(rng, DELTA_LOW, DELTA_HIGH)
