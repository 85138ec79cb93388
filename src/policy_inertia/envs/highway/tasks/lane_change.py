"""Lane Change: drive fast on a straight highway with several lanes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policy_inertia.envs.highway.config_checks import count_range, number, reward_range, whole
from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, Rows, compiled
from policy_inertia.envs.highway.simulator.lanes import (
    MAX_LANES,
    WIDTH,
    Network,
    centre,
    heading_at,
    network,
    straight,
)
from policy_inertia.envs.highway.simulator.placement import add, draw_count, make_ego
from policy_inertia.envs.highway.simulator.rewards import (
    changes_lane,
    normalized,
    on_road,
    speed_share,
)
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask, Upstream
from policy_inertia.envs.highway.simulator.vehicles import DELTA_HIGH, DELTA_LOW, clip


def _network(config: Config) -> Network:
    """Return a straight road of 10 km."""
    start, length, angle = 0.0, 10000.0, 0.0
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    edges = []
    for lane in range(int(config["lanes_count"])):
        origin = rotation @ np.array([start, lane * WIDTH])
        end = rotation @ np.array([start + length, lane * WIDTH])
        edges.append(("0", "1", straight(origin, end, speed_limit=30)))
    return network(edges)


@compiled
def _begin(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    """Place the ego, then each other vehicle in front of all vehicles on its lane."""
    others = draw_count(scene, settings)
    count = len(lanes)
    scale = math.exp(-5 / 40 * count)
    for k in range(others + 1):
        number = settings.initial_lane_id if k == 0 else -1
        if number < 0:
            number = generator.integers(scene.rng, count)
        lane = lanes[number]
        spacing, speed = settings.ego_spacing, 25.0
        if k > 0:
            spacing = 1 / settings.vehicles_density
            speed = generator.uniform(scene.rng, 0.7 * lane.speed_limit, 0.8 * lane.speed_limit)
        offset = spacing * (12 + 1.0 * speed) * scale
        at = 3 * offset
        if k > 0:
            at = -np.inf
            for j in range(k):
                at = max(at, scene.along[number, j])
        at += offset * generator.uniform(scene.rng, 0.9, 1.1)
        x, y = centre(lane, at)
        i = add(scene, lanes, x, y, heading_at(lane, at), speed)
        if k == 0:
            make_ego(scene, settings, i)
        else:
            scene.delta[i] = generator.uniform(scene.rng, DELTA_LOW, DELTA_HIGH)


@compiled
def _reward(
    scene: Record, lanes: Rows, roads: Rows, settings: Record, action: int, outcome: Record
) -> float:
    ego = scene.ego
    sides = roads[lanes[scene.lane[ego]].road].lanes
    target = lanes[scene.target_lane[ego]].number
    forward = scene.speed[ego] * scene.cos[ego]
    reward = settings.collision_reward * float(scene.crashed[ego])
    reward += settings.right_lane_reward * (target / max(sides - 1, 1))
    reward += settings.high_speed_reward * clip(speed_share(scene, settings, forward), 0.0, 1.0)
    reward += settings.lane_change_reward * changes_lane(action)
    if settings.normalize_reward:
        best = settings.high_speed_reward + settings.right_lane_reward
        reward = normalized(reward, settings.collision_reward, best)
    return reward if on_road(scene, lanes) else 0.0


def _vehicles(config: Config) -> tuple[int, int]:
    return count_range(config, "vehicles_count", 1, 1000)


def _check(config: Config) -> None:
    lanes = whole(config, "lanes_count", 1, MAX_LANES)
    if config["initial_lane_id"] is not None:
        whole(config, "initial_lane_id", 0, lanes - 1)
    number(config, "ego_spacing", 0.01, 100)
    number(config, "vehicles_density", 0.01, 100)
    if config["normalize_reward"]:
        best = config["high_speed_reward"] + config["right_lane_reward"]
        reward_range(config["collision_reward"], best)


def _values(config: Config) -> dict[str, Any]:
    lane = config["initial_lane_id"]
    return {"initial_lane_id": -1 if lane is None else lane}


def _missing(config: Config) -> dict[str, bool]:
    return {
        "speed_reward='index'": config["speed_reward"] != "speed",
        "a reward for changing lanes": config["lane_change_reward"] != 0,
    }


TASK = TrafficTask(
    name="LaneChange",
    network=_network,
    vehicles=_vehicles,
    begin=_begin,
    reward=_reward,
    defaults={
        "lanes_count": 4,
        "vehicles_count": 50,
        "initial_lane_id": None,
        "duration": 40,
        "ego_spacing": 2,
        "vehicles_density": 1,
        "collision_reward": -1,
        "right_lane_reward": 0.1,
        "high_speed_reward": 0.4,
        "lane_change_reward": 0,  # highway-env 1.12 never reads it; here it counts
        "normalize_reward": True,
        "offroad_terminal": False,
    },
    paper={
        "vehicles_count": [20, 50],
        "right_lane_reward": 0,
        "lane_change_reward": -0.1,
        "duration": 70,
        "observation": {"vehicles_count": 10},
    },
    paper_test={"vehicles_count": 45},
    fields={
        "initial_lane_id": int,  # -1: drawn
        "ego_spacing": float,
        "vehicles_density": float,
        "right_lane_reward": float,
        "lane_change_reward": float,
        "normalize_reward": bool,
    },
    values=_values,
    check=_check,
    upstream=Upstream(
        id="highway-v0",
        class_path="highway_env.envs.highway_env:HighwayEnv",
        vehicles=None,
        unread=frozenset({"lane_change_reward"}),
        missing=_missing,
    ),
)
