"""A Highway task for tests: keep close to the vehicle ahead on a single lane."""

import numpy as np

from policy_inertia.envs.highway.config_checks import count_range
from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.jit import Record, compiled
from policy_inertia.envs.highway.simulator.lanes import Network, centre, network, straight
from policy_inertia.envs.highway.simulator.placement import add, draw_count, make_ego
from policy_inertia.envs.highway.simulator.rewards import speed_share
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask


def _network(config: Config) -> Network:
    return network([("a", "b", straight([0, 0], [1000, 0], speed_limit=30))])


def _vehicles(config: Config) -> tuple[int, int]:
    return count_range(config, "vehicles_count", 1, 10)


@compiled
def _begin(scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record) -> None:
    x, y = centre(lanes[0], 50.0)
    make_ego(scene, settings, add(scene, lanes, x, y, 0.0, 25.0))
    for k in range(draw_count(scene, settings)):
        x, y = centre(lanes[0], 100.0 + 50.0 * k)
        add(scene, lanes, x, y, 0.0, generator.uniform(scene.rng, 20.0, 25.0))


@compiled
def _reward(
    scene: Record,
    lanes: np.ndarray,
    roads: np.ndarray,
    settings: Record,
    action: int,
    outcome: Record,
) -> float:
    gap = scene.x[1] - scene.x[scene.ego]
    reward = settings.high_speed_reward * speed_share(scene, settings, scene.speed[scene.ego])
    return reward + settings.gap_reward * gap / 100


TASK = TrafficTask(
    name="Platoon",
    network=_network,
    vehicles=_vehicles,
    begin=_begin,
    reward=_reward,
    defaults={
        "action": {"lateral": False},
        "duration": 20,
        "vehicles_count": [1, 4],
        "high_speed_reward": 1,
        "gap_reward": -1,
    },
    fields={"gap_reward": float},
)
