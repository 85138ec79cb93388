"""Two-Way: overtake on a lane that oncoming traffic uses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policy_inertia.envs.highway.config_checks import count_range, one_of
from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, Rows, compiled
from policy_inertia.envs.highway.simulator.lanes import Network, centre, network, straight
from policy_inertia.envs.highway.simulator.placement import add, draw_count, make_ego
from policy_inertia.envs.highway.simulator.rewards import on_road, speed_share
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask, Upstream
from policy_inertia.envs.highway.simulator.vehicles import clip

_RIGHT, _ONCOMING = 1, 2  # lanes by their rows in the network's table
_LENGTH = 800
_COST_PERIOD = 15  # steps; as the highway-env of the paper's time weighed the left lane


class _Scenario(NamedTuple):
    others: int  # number of other vehicles
    gap: float  # metres between the vehicles ahead


# highway-env's own scene, our reading of the paper's, and twice highway-env's vehicles
_SCENARIOS = {
    "simple": _Scenario(5, 40.0),
    "complex": _Scenario(10, 60.0),
    "dense": _Scenario(10, 40.0),
}


def _network(config: Config) -> Network:
    """Return two lanes in the ego's direction; oncoming traffic drives on the left one."""
    return network(
        [
            ("a", "b", straight([0, 0], [_LENGTH, 0])),
            ("a", "b", straight([0, 4], [_LENGTH, 4])),
            ("b", "a", straight([_LENGTH, 0], [0, 0])),
        ]
    )


@compiled
def _begin(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    """Place highway-env's three vehicles ahead and two oncoming, or more in the same ratio."""
    others = draw_count(scene, settings)
    ahead = (3 * others + 2) // 5
    right, oncoming = lanes[_RIGHT], lanes[_ONCOMING]
    x, y = centre(right, 30.0)
    make_ego(scene, settings, add(scene, lanes, x, y, 0.0, 30.0))
    for k in range(ahead):
        x, y = centre(
            right, 70.0 + settings.column_gap * float(k) + 10.0 * generator.normal(scene.rng)
        )
        speed = 24.0 + 2.0 * generator.normal(scene.rng)
        i = add(scene, lanes, x, y, right.heading, speed)
        scene.changes_lanes[i] = False
    for k in range(others - ahead):
        x, y = centre(oncoming, 200.0 + 100.0 * float(k) + 10.0 * generator.normal(scene.rng))
        speed = 20.0 + 5.0 * generator.normal(scene.rng)
        i = add(scene, lanes, x, y, oncoming.heading, speed)
        scene.changes_lanes[i] = False
        scene.target_lane[i] = _ONCOMING


@compiled
def _reward(
    scene: Record, lanes: Rows, roads: Rows, settings: Record, action: int, outcome: Record
) -> float:
    ego = scene.ego
    if settings.continuous and not on_road(scene, lanes):
        return 0.0
    reward = settings.collision_reward * float(scene.crashed[ego])
    if settings.continuous:  # there is no target speed; highway-env's reward on its highway
        share = speed_share(scene, settings, scene.speed[ego] * scene.cos[ego])
        reward += settings.high_speed_reward * clip(share, 0.0, 1.0)
    else:
        share = scene.speed_index / (settings.target_speeds_count - 1)
        reward += settings.high_speed_reward * share
    last = roads[lanes[scene.lane[ego]].road].lanes - 1
    if last > 0:  # highway-env divides by zero if the ego is closest to the oncoming lane
        left = last - lanes[scene.target_lane[ego]].number
        reward += settings.left_lane_reward * (left / last)
    return reward


@compiled
def _cost(scene: Record, lanes: np.ndarray, settings: Record) -> float:
    on_left = 1.0 if lanes[scene.lane[scene.ego]].number == 0 else 0.0
    return scene.crashed[scene.ego] + settings.left_lane_constraint * on_left / _COST_PERIOD


def _vehicles(config: Config) -> tuple[int, int]:
    count = config["vehicles_count"]
    count = _SCENARIOS[config["scenario"]].others if count is None else count
    return count_range({"vehicles_count": count}, "vehicles_count", 1, 15)


def _check(config: Config) -> None:
    one_of(config, "scenario", _SCENARIOS)


def _values(config: Config) -> dict[str, float]:
    return {"column_gap": _SCENARIOS[config["scenario"]].gap}


def _missing(config: Config) -> dict[str, bool]:
    return {"a reward for collisions": config["collision_reward"] != 0}


TASK = TrafficTask(
    name="TwoWay",
    network=_network,
    vehicles=_vehicles,
    begin=_begin,
    reward=_reward,
    cost=_cost,
    defaults={
        "scenario": "simple",  # ours: a key of _SCENARIOS
        "vehicles_count": None,  # ours: any other number; three fifths drive ahead of the ego
        "left_lane_constraint": 1,
        "left_lane_reward": 0.2,
        "high_speed_reward": 0.8,
    },
    paper={
        "scenario": "complex",
        "duration": 25,
        "observation": {"vehicles_count": 10},
    },
    fields={"left_lane_constraint": float, "left_lane_reward": float, "column_gap": float},
    values=_values,
    check=_check,
    continuous=True,
    upstream=Upstream(
        id="two-way-v0",
        class_path="highway_env.envs.two_way_env:TwoWayEnv",
        continuous_class_path="policy_inertia.envs.highway.upstream.continuous_two_way:ContinuousTwoWay",
        vehicles=_SCENARIOS["simple"].others,
        unread=frozenset({"scenario", "vehicles_count", "duration", "collision_reward"}),
        missing=_missing,
    ),
)
