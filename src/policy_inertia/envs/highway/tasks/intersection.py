"""Intersection: turn left at a crossing without traffic lights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policy_inertia.envs.highway.config_checks import number, one_of, reward_range, whole
from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, Rows, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import (
    WIDTH,
    Network,
    centre,
    circular,
    heading_at,
    network,
    straight,
)
from policy_inertia.envs.highway.simulator.observation import FEATURES
from policy_inertia.envs.highway.simulator.placement import add, make_ego, move_up
from policy_inertia.envs.highway.simulator.rewards import normalized, on_road, speed_share
from policy_inertia.envs.highway.simulator.task import Config, Traffic, TrafficTask, Upstream
from policy_inertia.envs.highway.simulator.traffic import tick
from policy_inertia.envs.highway.simulator.vehicles import DELTA_HIGH, DELTA_LOW, LENGTH, clip
from policy_inertia.errors import InputError

_EXIT_DISTANCE = 25  # metres on the exit after which the ego has arrived
_WARM_UP = 3  # seconds


def _network(config: Config) -> Network:
    """Return four entries, a right turn, a left turn and a straight lane from each, four exits.

    The nodes are highway-env's: an entry leads from o to ir, an exit from il to o. The horizontal
    road has priority: 3 straight on and right, 2 left; the vertical road has 1 and 0.
    """
    right_radius = WIDTH + 5
    left_radius = right_radius + WIDTH
    outer = right_radius + WIDTH / 2
    access = 50 + 50
    limit: dict[str, Any] = {"speed_limit": 10.0}
    edges = []
    for corner in range(4):
        angle = np.radians(90 * corner)
        priority = 3 if corner % 2 else 1
        rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        inner, right, left = f"ir{corner}", f"il{(corner - 1) % 4}", f"il{(corner + 1) % 4}"
        start = rotation @ np.array([WIDTH / 2, access + outer])
        end = rotation @ np.array([WIDTH / 2, outer])
        edges.append((f"o{corner}", inner, straight(start, end, priority=priority, **limit)))
        turning_right = circular(
            rotation @ np.array([outer, outer]),
            right_radius,
            angle + np.radians(180),
            angle + np.radians(270),
            priority=priority,
            **limit,
        )
        turning_left = circular(
            rotation @ np.array([-left_radius + WIDTH / 2, left_radius - WIDTH / 2]),
            left_radius,
            angle + np.radians(0),
            angle + np.radians(-90),
            clockwise=False,
            priority=priority - 1,
            **limit,
        )
        start = rotation @ np.array([WIDTH / 2, outer])
        end = rotation @ np.array([WIDTH / 2, -outer])
        through = straight(start, end, priority=priority, **limit)
        edges += [
            (inner, right, turning_right),
            (inner, left, turning_left),
            (inner, f"il{(corner + 2) % 4}", through),
        ]
        start = rotation @ np.flip([WIDTH / 2, access + outer], axis=0)
        end = rotation @ np.flip([WIDTH / 2, outer], axis=0)
        leaving = straight(end, start, priority=priority, **limit) | {"leaving": True}
        edges.append((right, f"o{(corner - 1) % 4}", leaving))
    return network(edges)


@compiled
def _begin(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    """Let traffic drive for three seconds, then add a vehicle that goes straight on, and the ego.

    The vehicles that are less than 20 m from the ego are taken off the road.
    """
    count = settings.vehicles_high
    for k in range(count - 1):
        _spawn(scene, lanes, float(k) * (80.0 / float(count - 1)), 1.0, 1.0, 0.6, False)
    for _ in range(settings.warm_up):
        tick(scene, lanes, roads, settings)
    _spawn(scene, lanes, 60.0, 0.1, 0.0, 1.0, True)
    destination = settings.destination
    if destination < 0:
        destination = 1 + generator.integers(scene.rng, 3)
    entry = lanes[_entry(0)]
    x, y = centre(entry, 60.0 + 5.0 * (1.0 + generator.normal(scene.rng)))
    ego = add(scene, lanes, x, y, entry.heading, entry.speed_limit)
    _plan_route(scene, ego, 0, destination)
    make_ego(scene, settings, ego)
    free = 0
    for i in range(scene.vehicles):
        dx, dy = scene.x[i] - x, scene.y[i] - y
        if i == scene.ego or not math.sqrt(dx * dx + dy * dy) < 20:
            free = move_up(scene, i, free)
    scene.vehicles = free


@compiled
def _after_step(scene: Record, lanes: np.ndarray, settings: Record) -> None:
    """Take vehicles at the end of an exit off the road, and maybe add one."""
    free = 0
    for i in range(scene.vehicles):
        lane = scene.lane[i]
        if (
            i == scene.ego
            or not lanes[lane].leaving
            or scene.along[lane, i] < lanes[lane].length - 4 * LENGTH
        ):
            free = move_up(scene, i, free)
    scene.vehicles = free
    _spawn(scene, lanes, 0.0, 1.0, 1.0, settings.spawn_probability, False)


@inlined
def _entry(corner: int) -> int:
    return 5 * corner


@inlined
def _plan_route(scene: Record, i: int, origin: int, destination: int) -> None:
    """Plan the three lanes in, across and out.

    The five lanes of a corner are its entry, right turn, left turn, straight lane, and an exit.
    """
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
    """Add a vehicle with some probability, unless another one is within 15 m.

    It comes from a random side and drives to a random other side.
    """
    rng = scene.rng
    if generator.random(rng) > probability:
        return
    origin, destination = generator.two_of_four(rng)
    if go_straight:
        destination = (origin + 2) % 4
    lane = lanes[_entry(origin)]
    at = at + 5.0 + generator.normal(rng) * position_deviation
    speed = 8.0 + generator.normal(rng) * speed_deviation
    x, y = centre(lane, at)
    for i in range(scene.vehicles):
        dx, dy = scene.x[i] - x, scene.y[i] - y
        if math.sqrt(dx * dx + dy * dy) < 15:
            return
    if scene.vehicles == len(scene.x):  # more than the four roads have room for
        return
    i = add(scene, lanes, x, y, heading_at(lane, at), speed)
    _plan_route(scene, i, origin, destination)
    scene.delta[i] = generator.uniform(rng, DELTA_LOW, DELTA_HIGH)


@compiled
def _arrived(scene: Record, lanes: np.ndarray, settings: Record) -> bool:
    lane = scene.lane[scene.ego]
    return lanes[lane].leaving and scene.along[lane, scene.ego] >= _EXIT_DISTANCE


@compiled
def _terminated(scene: Record, lanes: np.ndarray, settings: Record, outcome: Record) -> bool:
    return outcome.crashed or outcome.arrived


@compiled
def _reward(
    scene: Record, lanes: Rows, roads: Rows, settings: Record, action: int, outcome: Record
) -> float:
    ego = scene.ego
    share = speed_share(scene, settings, scene.speed[ego])
    reward = settings.collision_reward * float(scene.crashed[ego])
    reward += settings.high_speed_reward * clip(share, 0.0, 1.0)
    if outcome.arrived:
        reward = settings.arrived_reward
    if not on_road(scene, lanes):
        reward = 0.0
    if settings.normalize_reward:
        reward = normalized(reward, settings.collision_reward, settings.arrived_reward)
    return reward


def _vehicles(config: Config) -> tuple[int, int]:
    count = whole(config, "initial_vehicle_count", 1, 50)
    return count, count


def _check(config: Config) -> None:
    if config["simulation_frequency"] < 2:
        raise InputError("the intersection's rules need a simulation_frequency of 2 or more, got 1")
    number(config, "spawn_probability", 0, 1)
    one_of(config, "destination", ("o1", "o2", "o3"), None)
    if config["normalize_reward"]:
        reward_range(config["collision_reward"], config["arrived_reward"])


def _values(config: Config) -> dict[str, Any]:
    frequency, destination = int(config["simulation_frequency"]), config["destination"]
    return {
        "regulation_period": int(1 / (1 / frequency) / 2),
        "warm_up": _WARM_UP * frequency,
        "destination": -1 if destination is None else int(destination[1]),
    }


def _missing(config: Config) -> dict[str, bool]:
    return {"speed_reward='index'": config["speed_reward"] != "speed"}


TASK = TrafficTask(
    name="Intersection",
    network=_network,
    vehicles=_vehicles,
    begin=_begin,
    reward=_reward,
    arrived=_arrived,
    terminated=_terminated,
    after_step=_after_step,
    defaults={
        "observation": {
            "vehicles_count": 15,
            "features": list(FEATURES),
            "features_range": {
                "x": [-100, 100],
                "y": [-100, 100],
                "vx": [-20, 20],
                "vy": [-20, 20],
            },
            "absolute": True,
        },
        "action": {"lateral": False, "target_speeds": [0, 4.5, 9]},
        "duration": 13,
        "destination": "o1",
        "initial_vehicle_count": 10,
        "spawn_probability": 0.6,
        "collision_reward": -5,
        "high_speed_reward": 1,
        "arrived_reward": 1,
        "reward_speed_range": [7.0, 9.0],
        "normalize_reward": False,
        "offroad_terminal": False,
    },
    paper={
        "observation": {"vehicles_count": 5},
        "collision_reward": 0,
        "high_speed_reward": 0,
        "arrived_reward": 5,
        "duration": 25,
    },
    fields={
        "spawn_probability": float,
        "destination": int,  # -1: drawn
        "arrived_reward": float,
        "normalize_reward": bool,
    },
    values=_values,
    check=_check,
    # highway-env's intersection sets these constants for all traffic of its process
    traffic=Traffic(distance_wanted=7.0, comfort_acceleration=6.0, comfort_braking=-3.0),
    routes=True,
    upstream=Upstream(
        id="intersection-v0",
        class_path="highway_env.envs.intersection_env:IntersectionEnv",
        vehicles=None,
        unread=frozenset(),
        missing=_missing,
    ),
)
