"""Turn a task and its checked configuration into the tables that compiled code reads."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.highway.simulator import records
from policy_inertia.envs.highway.simulator.controls import is_continuous, speed_range
from policy_inertia.envs.highway.simulator.lanes import Network
from policy_inertia.envs.highway.simulator.observation import FEATURES, RANGES
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask


class Tables(NamedTuple):
    """A task as compiled code reads it; `capacity` is the size of its scenes."""

    network: Network
    settings: np.ndarray  # one record
    capacity: int


def tables(task: TrafficTask, config: Config, entries: int = 0) -> Tables:
    """Return the tables for a checked configuration.

    Args:
        task: the task.
        config: its whole configuration.
        entries: the scenes have room for this many vehicles and obstacles at least.
    """
    record = np.zeros(1, records.settings_dtype(task.fields))
    for name in record.dtype.names or ():
        if name in config and np.isscalar(config[name]) and not isinstance(config[name], str):
            record[name] = config[name]
    least, most = task.vehicles(config)
    simulation, policy = int(config["simulation_frequency"]), int(config["policy_frequency"])
    values = {
        "dt": 1 / simulation,
        "frames": simulation // policy,
        "decision_time": 1 / policy,
        "duration": math.inf if config["duration"] is None else config["duration"],
        "vehicles_low": least,
        "vehicles_high": most,
        "reward_speed_low": config["reward_speed_range"][0],
        "reward_speed_high": config["reward_speed_range"][1],
        "speed_reward_by_index": config["speed_reward"] == "index",
        **task.traffic._asdict(),
        **task.values(config),
    }
    for name, value in values.items():
        record[name] = value
    _write_action(record, config["action"])
    _write_observation(record, config["observation"])
    entries = max(entries, most + 2)  # the ego, and an obstacle
    capacity = next(c for c in records.CAPACITIES if c >= entries)
    return Tables(task.network(config), record, capacity)


def _write_action(record: np.ndarray, action: Config) -> None:
    record["continuous"] = is_continuous(action)
    if is_continuous(action):
        record["ego_speed_low"], record["ego_speed_high"] = speed_range(action)
        return
    actions = _actions(action)
    speeds = np.array(action["target_speeds"], np.float64)
    record["actions_count"], record["target_speeds_count"] = len(actions), len(speeds)
    record["actions"][0, : len(actions)] = actions
    record["target_speeds"][0, : len(speeds)] = speeds


def _actions(action: Config) -> list[int]:
    """Return the meta-actions in the order of the action's number."""
    left, idle, right = records.LEFT, records.IDLE, records.RIGHT
    faster, slower = records.FASTER, records.SLOWER
    if action["longitudinal"] and action["lateral"]:
        return [left, idle, right, faster, slower]
    return [slower, idle, faster] if action["longitudinal"] else [left, idle, right]


def _write_observation(record: np.ndarray, observation: Config) -> None:
    for name in ("absolute", "normalize", "clip", "see_behind", "include_obstacles"):
        record[name] = observation[name]
    record["scale_y_by_lanes"] = not observation["features_range"]
    ranges: dict[str, Any] = observation["features_range"] or {
        name: [-limit, limit] for name, limit in RANGES.items()
    }
    for column, name in enumerate(observation["features"]):
        record["features"][0, column] = FEATURES.index(name)
        low, high = ranges.get(name, (0.0, 0.0))  # an empty range: the value is not scaled
        record["features_low"][0, column], record["features_high"][0, column] = low, high
