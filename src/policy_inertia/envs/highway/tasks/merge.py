"""Merge: let a vehicle on the ramp join two lanes."""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.config_checks import count_range, reward_range
from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, Rows, compiled
from policy_inertia.envs.highway.simulator.lanes import (
    Network,
    centre,
    network,
    position,
    sine,
    straight,
)
from policy_inertia.envs.highway.simulator.placement import add, draw_count, make_ego
from policy_inertia.envs.highway.simulator.rewards import changes_lane, normalized, speed_share
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask, Upstream
from policy_inertia.envs.highway.simulator.vehicles import place

_RIGHT, _MERGING, _RAMP = 1, 4, 7  # lanes by their rows in the network's table
_END = 370  # metres: the episode ends here
_UPSTREAM_VEHICLES = 4  # the fourth is on the ramp


def _network(config: Config) -> Network:
    """Return two lanes and a ramp from the right; its last 80 m run beside the lanes."""
    ends = [150, 80, 80, 150]  # before, converging, beside, after
    edges = []
    for y in (0, 4):
        for (origin, destination), first, last in (("ab", 0, 2), ("bc", 2, 3), ("cd", 3, 4)):
            lane = straight([sum(ends[:first]), y], [sum(ends[:last]), y])
            edges.append((origin, destination, lane))
    amplitude = 3.25
    ramp = straight([0, 6.5 + 4 + 4], [ends[0], 6.5 + 4 + 4], forbidden=True)
    bend = sine(
        position(ramp, ends[0], -amplitude),
        position(ramp, sum(ends[:2]), -amplitude),
        amplitude,
        2 * np.pi / (2 * ends[1]),
        np.pi / 2,
        forbidden=True,
    )
    start = position(bend, ends[1], 0)
    beside = straight(start, start + np.array([ends[2], 0]), forbidden=True)
    edges += [("j", "k", ramp), ("k", "b", bend), ("b", "c", beside)]
    return network(edges)


@compiled
def _begin(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    """Place highway-env's ego, three others and the ramp's; more as its merge-generic does."""
    others = draw_count(scene, settings)
    x, y = centre(lanes[_RIGHT], 30.0)
    make_ego(scene, settings, add(scene, lanes, x, y, 0.0, 30.0))
    for at, speed in ((90.0, 29.0), (70.0, 31.0), (5.0, 31.5)):
        lane = lanes[generator.integers(scene.rng, 2)]
        x, y = centre(lane, at + generator.uniform(scene.rng, -5.0, 5.0))
        add(scene, lanes, x, y, 0.0, speed + generator.uniform(scene.rng, -1.0, 1.0))
    x, y = centre(lanes[_RAMP], 110.0)
    i = add(scene, lanes, x, y, 0.0, 20.0)
    scene.target_speed[i] = 30.0
    for _ in range(others - _UPSTREAM_VEHICLES):
        _add_where_free(scene, lanes)
    # the obstacle at the end of the merging lane; obstacles follow the vehicles in the list
    x, y = centre(lanes[_MERGING], 80.0)
    place(scene, lanes, scene.vehicles, x, y, 0.0, 0.0)
    scene.obstacles = 1


@compiled
def _add_where_free(scene: Record, lanes: np.ndarray) -> None:
    """Try ten times to add a vehicle 15 m from all others on its lane; a full road gets none."""
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
            add(scene, lanes, x, y, 0.0, speed)
            return


@compiled
def _reward(
    scene: Record, lanes: Rows, roads: Rows, settings: Record, action: int, outcome: Record
) -> float:
    ego = scene.ego
    slowed_down = 0.0  # the merging vehicles, in shares of their target speeds
    for i in range(scene.vehicles):
        # a vehicle with target speed 0 is not slowed down; highway-env divides by zero
        if scene.lane[i] == _MERGING and scene.target_speed[i] != 0.0:
            slowed_down += (scene.target_speed[i] - scene.speed[i]) / scene.target_speed[i]
    reward = settings.collision_reward * float(scene.crashed[ego])
    reward += settings.right_lane_reward * lanes[scene.lane[ego]].number
    reward += settings.high_speed_reward * speed_share(scene, settings, scene.speed[ego])
    reward += settings.lane_change_reward * changes_lane(action)
    reward += settings.merging_speed_reward * slowed_down
    worst = settings.collision_reward + settings.merging_speed_reward
    return normalized(reward, worst, settings.high_speed_reward + settings.right_lane_reward)


@compiled
def _terminated(scene: Record, lanes: np.ndarray, settings: Record, outcome: Record) -> bool:
    return outcome.crashed or scene.x[scene.ego] > _END


def _vehicles(config: Config) -> tuple[int, int]:
    return count_range(config, "vehicles_count", _UPSTREAM_VEHICLES, 50)


def _check(config: Config) -> None:
    worst = config["collision_reward"] + config["merging_speed_reward"]
    reward_range(worst, config["high_speed_reward"] + config["right_lane_reward"])


def _missing(config: Config) -> dict[str, bool]:
    return {"speed_reward='index'": config["speed_reward"] != "speed"}


TASK = TrafficTask(
    name="Merge",
    network=_network,
    vehicles=_vehicles,
    begin=_begin,
    reward=_reward,
    terminated=_terminated,
    defaults={
        "vehicles_count": _UPSTREAM_VEHICLES,  # ours: highway-env has no such setting
        "collision_reward": -1,
        "right_lane_reward": 0.1,
        "high_speed_reward": 0.2,
        "merging_speed_reward": -0.5,
        "lane_change_reward": -0.05,
    },
    paper={
        "vehicles_count": [6, 12],
        "duration": 25,
        "observation": {"vehicles_count": 10},
    },
    fields={
        "right_lane_reward": float,
        "lane_change_reward": float,
        "merging_speed_reward": float,
    },
    check=_check,
    upstream=Upstream(
        id="merge-v0",
        class_path="highway_env.envs.merge_env:MergeEnv",
        vehicles=_UPSTREAM_VEHICLES,
        unread=frozenset({"vehicles_count", "duration"}),
        missing=_missing,
    ),
)
