"""A task's configuration, under highway-env's names: the paper's table, upstream's own, and checks.

Where highway-env has no such thing (a number of vehicles for Merge and Two-Way, a duration for
them, the weight of a lane change in Lane Change), the reading of the paper's table is ours.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.highway.simulator import lanes, records
from policy_inertia.envs.highway.simulator.observation import FEATURES, RANGES
from policy_inertia.envs.highway.simulator.vehicles import LENGTH
from policy_inertia.errors import InputError, nearest

Config = dict[str, Any]

# of highway-env's configuration, what is about drawing: kept where it is given, for rendering
DRAWING = (
    "screen_width",
    "screen_height",
    "centering_position",
    "scaling",
    "show_trajectories",
    "render_agent",
    "offscreen_rendering",
    "real_time_rendering",
)
# what highway-env can do and these tasks do not need: accepted with the one value that is in use
_FIXED = {
    "manual_control": False,
    "controlled_vehicles": 1,
    "neighbour_vehicles_connected_lanes": False,
    "other_vehicles_type": "highway_env.vehicle.behavior.IDMVehicle",
}
_OBSERVATION: Config = {
    "type": "Kinematics",
    "vehicles_count": 5,
    "features": ["presence", "x", "y", "vx", "vy"],
    "features_range": None,
    "absolute": False,
    "order": "sorted",
    "normalize": True,
    "clip": True,
    "see_behind": False,
    "observe_intentions": False,
    "include_obstacles": True,
    "flatten": False,
}
_OBSERVATION_FIXED = {
    "type": "Kinematics",
    "order": "sorted",
    "observe_intentions": False,
    "flatten": False,
}
_ACTION: Config = {
    "type": "DiscreteMetaAction",
    "longitudinal": True,
    "lateral": True,
    "target_speeds": [20.0, 25.0, 30.0],
}
_COMMON: Config = {
    "simulation_frequency": 15,
    "policy_frequency": 1,
    "duration": None,  # in seconds; None: no limit
    "idm_speed_limit": True,  # ours: False lets traffic ignore the lanes' limits, as before 2023
    "speed_reward": "speed",  # ours: "index" rewards the target speed's index, as in 2020
    "collision_reward": 0,
    "high_speed_reward": 0,
    "reward_speed_range": [20, 30],
}


@dataclass(frozen=True)
class TaskSpec:
    """A task: its upstream counterpart, its roads, and the two configurations."""

    name: str
    upstream_id: str
    upstream_class: str  # "module:name", as Gymnasium has it
    kind: int
    network: Callable[..., lanes.Network]
    upstream: Config
    paper: Config
    paper_test: Config = field(default_factory=dict)  # on top of the paper's, for evaluation
    vehicles_range: tuple[int, int] = (1, 1000)  # of others that can be asked for


_CROSSING = {
    "features": list(FEATURES),
    "features_range": {"x": [-100, 100], "y": [-100, 100], "vx": [-20, 20], "vy": [-20, 20]},
    "absolute": True,
}

TASKS = {
    spec.name: spec
    for spec in (
        TaskSpec(
            "LaneChange",
            "highway-v0",
            "highway_env.envs.highway_env:HighwayEnv",
            records.LANE_CHANGE,
            lanes.highway,
            upstream={
                "lanes_count": 4,
                "vehicles_count": 50,
                "initial_lane_id": None,
                "duration": 40,
                "ego_spacing": 2,
                "vehicles_density": 1,
                "collision_reward": -1,
                "right_lane_reward": 0.1,
                "high_speed_reward": 0.4,
                "lane_change_reward": 0,  # never read by highway-env 1.12; here it counts
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
        ),
        TaskSpec(
            "Merge",
            "merge-v0",
            "highway_env.envs.merge_env:MergeEnv",
            records.MERGE,
            lanes.merge,
            upstream={
                "vehicles_count": 4,  # ours: the fourth is on the ramp
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
            vehicles_range=(4, 50),
        ),
        TaskSpec(
            "Intersection",
            "intersection-v0",
            "highway_env.envs.intersection_env:IntersectionEnv",
            records.INTERSECTION,
            lanes.intersection,
            upstream={
                "observation": {"vehicles_count": 15, **_CROSSING},
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
        ),
        TaskSpec(
            "TwoWay",
            "two-way-v0",
            "highway_env.envs.two_way_env:TwoWayEnv",
            records.TWO_WAY,
            lanes.two_way,
            upstream={
                "scenario": "simple",  # ours: "simple" has upstream's 5 others, "complex" 10
                "vehicles_count": None,  # ours: any other number; three fifths go our way
                "left_lane_constraint": 1,
                "left_lane_reward": 0.2,
                "high_speed_reward": 0.8,
            },
            paper={
                "scenario": "complex",
                "duration": 25,
                "observation": {"vehicles_count": 10},
            },
            vehicles_range=(1, 15),
        ),
    )
}
PRESETS = ("paper", "paper-test", "upstream")
_SCENARIOS = {"simple": 5, "complex": 10}


def task_named(name: str) -> TaskSpec:
    """A task by its name, its Gymnasium id or upstream's id."""
    for spec in TASKS.values():
        if name in (spec.name, f"policy_inertia/{spec.name}-v0", spec.upstream_id):
            return spec
    raise InputError(f"there is no Highway task '{name}'{nearest(name, TASKS)}")


def configuration(spec: TaskSpec, config: Config | None = None, preset: str = "paper") -> Config:
    """A preset with the given items on top, checked. `observation` and `action` are merged."""
    if preset not in PRESETS:
        raise InputError(f"there is no preset '{preset}'{nearest(preset, PRESETS)}")
    if config is not None and not isinstance(config, dict):
        raise InputError(f"config must be a dictionary, got {config!r}")
    full = copy.deepcopy(_COMMON | {"observation": _OBSERVATION, "action": _ACTION})
    layers = {
        "upstream": [spec.upstream],
        "paper": [spec.upstream, spec.paper],
        "paper-test": [spec.upstream, spec.paper, spec.paper_test],
    }[preset]
    for layer in (*layers, config or {}):
        for key, value in layer.items():
            if layer is config and key not in full and key not in DRAWING and key not in _FIXED:
                known = [*full, *_FIXED]
                raise InputError(f"{spec.name} has no setting '{key}'{nearest(key, known)}")
            if key in ("observation", "action"):
                _merge(full[key], value, key)
            elif key not in _FIXED:
                full[key] = copy.deepcopy(value)
            elif value != _FIXED[key]:
                raise InputError(f"{key} must be {_FIXED[key]!r} here, got {value!r}")
    _check(spec, full)
    return full


def _merge(into: Config, given: Any, where: str) -> None:
    if not isinstance(given, dict):
        raise InputError(f"{where} must be a dictionary, got {given!r}")
    for key, value in given.items():
        if key not in into:
            raise InputError(f"{where} has no setting '{key}'{nearest(key, into)}")
        into[key] = copy.deepcopy(value)


def upstream_configuration(spec: TaskSpec, config: Config) -> Config:
    """What to make the original with; refused where highway-env has nothing like it."""
    least, most = vehicles_range(spec, config)
    counts = {records.MERGE: 4, records.TWO_WAY: 5}
    without = {
        f"{most} vehicles": most != counts.get(spec.kind, most),
        "a number of vehicles that is drawn": least != most,
        "idm_speed_limit=False": not config["idm_speed_limit"],
    } | _reward_terms_without(spec, config)
    for what, asked in without.items():
        if asked:
            raise InputError(f"highway-env's {spec.upstream_id} does not know {what}")
    return nearest_configuration(spec, config)


def _reward_terms_without(spec: TaskSpec, config: Config) -> dict[str, bool]:
    """Terms of a reward that highway-env cannot compute, and whether they are asked for."""
    return {
        "speed_reward='index'": spec.kind != records.TWO_WAY and config["speed_reward"] != "speed",
        "a reward for changing lanes": spec.kind == records.LANE_CHANGE
        and config["lane_change_reward"] != 0,
        "a reward for collisions": spec.kind == records.TWO_WAY and config["collision_reward"] != 0,
    }


def has_upstream_reward(spec: TaskSpec, config: Config) -> bool:
    """Whether highway-env's own reward is the configured one."""
    return not any(_reward_terms_without(spec, config).values())


def limited(config: Config, steps: int, now: float = 0.0) -> Config:
    """The same, over after so many more steps at the latest; time as both simulators sum it."""
    end, duration = now, config["duration"]
    for _ in range(steps):
        end += 1 / config["policy_frequency"]
    return config | {"duration": end if duration is None else min(end, duration)}


def nearest_configuration(spec: TaskSpec, config: Config) -> Config:
    """What to make the original with, without what it does not know."""
    ours = ("idm_speed_limit", "speed_reward", "scenario")
    given = {key: copy.deepcopy(value) for key, value in config.items() if key not in ours}
    if given["duration"] is None:
        given["duration"] = math.inf
    if spec.kind == records.LANE_CHANGE:
        _, given["vehicles_count"] = vehicles_range(spec, config)
    return given


def configuration_of(spec: TaskSpec, given: Config) -> Config:
    """Our configuration that does what highway-env makes of one of its own.

    What highway-env never reads, whatever is written there, is left at what it does.
    """
    full = configuration(spec, preset="upstream")
    dead = {"idm_speed_limit", "speed_reward", "scenario"} | {
        records.LANE_CHANGE: {"lane_change_reward"},
        records.MERGE: {"vehicles_count", "duration"},
        records.TWO_WAY: {"vehicles_count", "duration", "collision_reward"},
    }.get(spec.kind, set())
    read = {
        key: value
        for key, value in given.items()
        if (key in full and key not in dead) or key in DRAWING or key in _FIXED
    }
    for key, default in (("observation", _OBSERVATION), ("action", _ACTION)):
        kind = read[key].get("type")
        if kind != default["type"]:
            raise InputError(f"{key} type must be {default['type']!r} here, got {kind!r}")
        read[key] = default | read[key]  # highway-env does not merge them with the task's own
    if read.get("duration") == math.inf:
        read["duration"] = None
    return configuration(spec, read, preset="upstream")


# --- checks: one sentence each ---


def _number(config: Config, key: str, low: float, high: float, what: str = "a number") -> float:
    value = config[key]
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not real or not low <= value <= high:  # NaN is never inside
        raise InputError(f"{key} must be {what} from {low:g} to {high:g}, got {value!r}")
    return float(value)


def _whole(config: Config, key: str, low: int, high: int) -> int:
    value = _number(config, key, low, high, "a whole number")
    if value != int(value):
        raise InputError(f"{key} must be a whole number, got {config[key]!r}")
    return int(value)


def _flag(config: Config, key: str) -> bool:
    if not isinstance(config[key], bool | np.bool_):
        raise InputError(f"{key} must be True or False, got {config[key]!r}")
    return bool(config[key])


def _pair(config: Config, key: str) -> tuple[float, float]:
    values = config[key]
    if not isinstance(values, list | tuple | np.ndarray) or len(values) != 2:
        raise InputError(f"{key} must be two numbers [low, high], got {values!r}")
    low, high = (_number({key: v}, key, -1e6, 1e6) for v in values)
    if not low < high:
        raise InputError(f"{key} must be [low, high] with low below high, got {values!r}")
    return low, high


def vehicles_range(spec: TaskSpec, config: Config) -> tuple[int, int]:
    """The least and the most others that a reset may draw."""
    if spec.kind == records.INTERSECTION:
        count = _whole(config, "initial_vehicle_count", 1, 50)
        return count, count
    value = config["vehicles_count"]
    if spec.kind == records.TWO_WAY and value is None:
        value = _SCENARIOS[config["scenario"]]
    ends = list(value) if isinstance(value, list | tuple | np.ndarray) else [value, value]
    if len(ends) != 2:
        raise InputError(f"vehicles_count must be a number or [least, most], got {value!r}")
    least, most = (
        _whole({"vehicles_count": v}, "vehicles_count", *spec.vehicles_range) for v in ends
    )
    if least > most:
        raise InputError(f"vehicles_count must be [least, most], got {value!r}")
    return least, most


def _check(spec: TaskSpec, config: Config) -> None:
    simulation = _whole(config, "simulation_frequency", 1, 1000)
    policy = _whole(config, "policy_frequency", 1, 1000)
    if simulation % policy:
        raise InputError(
            f"simulation_frequency must be a multiple of policy_frequency, got {simulation} and "
            f"{policy}"
        )
    if spec.kind == records.INTERSECTION and simulation < 2:
        raise InputError("the intersection's rules need a simulation_frequency of 2 or more, got 1")
    if config["duration"] is not None:
        _number(config, "duration", 1e-9, 1e9)
    for key in config:
        if key.endswith(("_reward", "_constraint")) and key not in (
            "normalize_reward",
            "speed_reward",
        ):
            _number(config, key, -1e6, 1e6)
        if key in ("idm_speed_limit", "normalize_reward", "offroad_terminal"):
            _flag(config, key)
    if config["speed_reward"] not in ("speed", "index"):
        raise InputError(f"speed_reward must be speed or index, got {config['speed_reward']!r}")
    _pair(config, "reward_speed_range")
    _check_drawing(config)
    if spec.kind == records.LANE_CHANGE:
        count = _whole(config, "lanes_count", 1, lanes.MAX_LANES)
        if config["initial_lane_id"] is not None:
            _whole(config, "initial_lane_id", 0, count - 1)
        _number(config, "ego_spacing", 0.01, 100)
        _number(config, "vehicles_density", 0.01, 100)
    elif spec.kind == records.INTERSECTION:
        _number(config, "spawn_probability", 0, 1)
        if config["destination"] not in (None, "o1", "o2", "o3"):
            raise InputError(
                f"destination must be o1, o2, o3 or None, got {config['destination']!r}"
            )
    elif spec.kind == records.TWO_WAY and config["scenario"] not in _SCENARIOS:
        raise InputError(f"scenario must be simple or complex, got {config['scenario']!r}")
    vehicles_range(spec, config)
    _check_normalisation(spec, config)
    _check_observation(config["observation"])
    _check_action(config["action"])


def _check_drawing(config: Config) -> None:
    for key in DRAWING:
        if key not in config or (key == "offscreen_rendering" and config[key] is None):
            continue
        if key.startswith("screen_"):
            _whole(config, key, 16, 8192)
        elif key == "scaling":
            _number(config, key, 0.1, 100)
        elif key == "centering_position":
            place = config[key]
            if not isinstance(place, list | tuple | np.ndarray) or len(place) != 2:
                raise InputError(f"{key} must be two shares of the screen, got {place!r}")
            for share in place:
                _number({key: share}, key, -10, 10)
        else:
            _flag(config, key)


def _check_normalisation(spec: TaskSpec, config: Config) -> None:
    """A reward is mapped from [worst, best] to [0, 1], which must not be empty."""
    worst, best = config["collision_reward"], config["high_speed_reward"]
    if spec.kind == records.MERGE:
        worst += config["merging_speed_reward"]
    elif not config.get("normalize_reward", False):
        return
    if spec.kind == records.INTERSECTION:
        best = config["arrived_reward"]
    else:
        best += config["right_lane_reward"]
    if not worst < best:
        raise InputError(
            f"rewards can be normalised only if the best ({best:g}) is above the worst ({worst:g})"
        )


def _check_observation(observation: Config) -> None:
    for key, value in _OBSERVATION_FIXED.items():
        if observation[key] != value:
            raise InputError(f"observation {key} must be {value!r}, got {observation[key]!r}")
    _whole(observation, "vehicles_count", 1, 1000)
    features = observation["features"] = observation["features"] or _OBSERVATION["features"]
    if not isinstance(features, list | tuple) or len(features) > records.MAX_FEATURES:
        raise InputError(f"features must be 1 to {records.MAX_FEATURES} names, got {features!r}")
    for name in features:
        if name not in FEATURES:
            raise InputError(f"there is no feature '{name}'{nearest(str(name), FEATURES)}")
    for key in ("absolute", "normalize", "clip", "see_behind", "include_obstacles"):
        _flag(observation, key)
    ranges = observation["features_range"]
    if ranges is not None:
        if not isinstance(ranges, dict):
            raise InputError(f"features_range must be a dictionary or None, got {ranges!r}")
        for name in ranges:
            _pair(ranges, name)


def _check_action(action: Config) -> None:
    if action["type"] != "DiscreteMetaAction":
        raise InputError(f"action type must be DiscreteMetaAction, got {action['type']!r}")
    if not (_flag(action, "longitudinal") | _flag(action, "lateral")):
        raise InputError("an action must be longitudinal, lateral or both, got neither")
    speeds = action["target_speeds"]
    if speeds is None:
        speeds = action["target_speeds"] = list(_ACTION["target_speeds"])
    most = records.MAX_TARGET_SPEEDS
    if not isinstance(speeds, list | tuple | np.ndarray) or not 2 <= len(speeds) <= most:
        raise InputError(f"target_speeds must be 2 to {most} speeds, got {speeds!r}")
    for speed in speeds:
        _number({"target_speeds": speed}, "target_speeds", -40, 40)
    if not speeds[0] < speeds[-1]:
        raise InputError(f"target_speeds must rise, got {speeds!r}")


# --- for compiled code ---


class Tables(NamedTuple):
    """A task as compiled code takes it."""

    network: lanes.Network
    task: np.ndarray  # one record
    spawns: np.ndarray  # where the intersection's first vehicles stand
    capacity: int


def tables(spec: TaskSpec, config: Config, entries: int = 0) -> Tables:
    """Turn a checked configuration into records, for scenes with room for `entries` at least."""
    record = np.zeros(1, records.TASK)
    for name in records.TASK.names or ():
        if name in config and np.isscalar(config[name]) and not isinstance(config[name], str):
            record[name] = config[name]
    observation, action = config["observation"], config["action"]
    for name in ("absolute", "normalize", "clip", "see_behind", "include_obstacles"):
        record[name] = observation[name]
    simulation, policy = int(config["simulation_frequency"]), int(config["policy_frequency"])
    least, most = vehicles_range(spec, config)
    actions = _actions(action)
    speeds = np.array(action["target_speeds"], np.float64)
    crossing = spec.kind == records.INTERSECTION
    values = {
        "kind": spec.kind,
        "dt": 1 / simulation,
        "frames": simulation // policy,
        "decision_time": 1 / policy,
        "duration": math.inf if config["duration"] is None else config["duration"],
        "actions_count": len(actions),
        "target_speeds_count": len(speeds),
        # highway-env's intersection changes these for all traffic of its process
        "distance_wanted": 7.0 if crossing else 5.0 + LENGTH,
        "comfort_acceleration": 6.0 if crossing else 3.0,
        "comfort_braking": -3.0 if crossing else -5.0,
        "regulation_period": int(1 / (1 / simulation) / 2) if crossing else 0,
        "vehicles_low": least,
        "vehicles_high": most,
        "warm_up": 3 * simulation,
        "reward_speed_low": config["reward_speed_range"][0],
        "reward_speed_high": config["reward_speed_range"][1],
        "speed_reward_by_index": config["speed_reward"] == "index",
        "scale_y_by_lanes": not observation["features_range"],
    }
    for name, value in values.items():
        record[name] = value
    record["actions"][0, : len(actions)] = actions
    record["target_speeds"][0, : len(speeds)] = speeds
    if config.get("initial_lane_id", 0) is None:
        record["initial_lane_id"] = -1
    if crossing:
        record["destination"] = -1 if config["destination"] is None else config["destination"][1]
    ranges = observation["features_range"] or {k: [-v, v] for k, v in RANGES.items()}
    for column, name in enumerate(observation["features"]):
        record["features"][0, column] = FEATURES.index(name)
        low, high = ranges.get(name, (0.0, 0.0))  # an empty range: as it is
        record["features_low"][0, column], record["features_high"][0, column] = low, high
    entries = max(entries, most + 2)  # the ego, and Merge's obstacle
    capacity = next(c for c in records.CAPACITIES if c >= entries)
    spawns = np.linspace(0, 80, most) if crossing else np.zeros(1)
    shape = {"lanes_count": int(config["lanes_count"])} if "lanes_count" in config else {}
    return Tables(spec.network(**shape), record, spawns, capacity)


def _actions(action: Config) -> list[int]:
    left, idle, right = records.LEFT, records.IDLE, records.RIGHT
    faster, slower = records.FASTER, records.SLOWER
    if action["longitudinal"] and action["lateral"]:
        return [left, idle, right, faster, slower]
    return [slower, idle, faster] if action["longitudinal"] else [left, idle, right]
