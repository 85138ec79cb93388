"""A task's configuration, with highway-env's names: the presets, and the checks of all settings.

Some settings do not exist in highway-env: a number of vehicles or a duration for Merge and Two-Way,
for example. There the meaning of the paper's table is our reading of it; see docs/highway.md.
"""

from __future__ import annotations

import copy
from typing import Any

from policy_inertia.envs.highway.config_checks import (
    fixed,
    flag,
    is_list,
    number,
    one_of,
    pair,
    whole,
)
from policy_inertia.envs.highway.simulator import records, vehicles
from policy_inertia.envs.highway.simulator.controls import CONTINUOUS
from policy_inertia.envs.highway.simulator.observation import FEATURES
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask
from policy_inertia.errors import InputError, nearest, shown

PRESETS = ("paper", "paper-test", "upstream")
# highway-env's settings about drawing: we pass those that are given on to highway-env
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
# settings of highway-env for which the tasks here have one value only
FIXED = {
    "manual_control": False,
    "controlled_vehicles": 1,
    "neighbour_vehicles_connected_lanes": False,
    "other_vehicles_type": "highway_env.vehicle.behavior.IDMVehicle",
}
OBSERVATION: Config = {
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
ACTION: Config = {
    "type": "DiscreteMetaAction",
    "longitudinal": True,
    "lateral": True,
    "target_speeds": [20.0, 25.0, 30.0],
}
ACTIONS = {kind["type"]: kind for kind in (ACTION, CONTINUOUS)}
_COMMON: Config = {
    "simulation_frequency": 15,
    "policy_frequency": 1,
    "duration": None,  # in seconds; None: no limit
    "idm_speed_limit": True,  # ours: with False traffic ignores the lanes' limits, as before 2023
    "speed_reward": "speed",  # ours: "index" rewards the target speed's index, as in 2020
    "collision_reward": 0,
    "high_speed_reward": 0,
    "reward_speed_range": [20, 30],
}


def configuration(task: TrafficTask, config: Config | None = None, preset: str = "paper") -> Config:
    """Return the whole configuration of a task, checked.

    Args:
        task: the task.
        config: settings on top of the preset; `observation` and `action` are merged with the
            preset's.
        preset: "paper", "paper-test" (as the paper evaluates) or "upstream" (highway-env's
            defaults).

    Raises:
        InputError: if a setting does not exist or has a wrong value.
    """
    given: Any = preset  # a file may hold anything
    if not isinstance(given, str) or given not in PRESETS:
        raise InputError(f"there is no preset {shown(preset)}{nearest(preset, PRESETS)}")
    if config is not None and not isinstance(config, dict):
        raise InputError(f"config must be a dictionary, got {shown(config)}")
    full = copy.deepcopy(_COMMON | {"observation": OBSERVATION, "action": ACTION})
    layers = {
        "upstream": [task.defaults],
        "paper": [task.defaults, task.paper],
        "paper-test": [task.defaults, task.paper, task.paper_test],
    }[preset]
    for layer in (*layers, config or {}):
        for key, value in layer.items():
            if layer is config and key not in full and key not in DRAWING and key not in FIXED:
                known = [*full, *FIXED]
                raise InputError(f"{task.name} has no setting {shown(key)}{nearest(key, known)}")
            if key == "action":
                full[key] = _of_kind(full[key], value)
            if key in ("observation", "action"):
                _merge(full[key], value, key)
            elif key not in FIXED:
                full[key] = copy.deepcopy(value)
            else:
                fixed(layer, key, FIXED[key])
    _check(task, full)
    return full


def _of_kind(action: Config, given: Any) -> Config:
    """Return the settings that `given` is merged with: another type of action has its own."""
    kind = given.get("type") if isinstance(given, dict) else None
    if isinstance(kind, str) and kind in ACTIONS and kind != action["type"]:
        return copy.deepcopy(ACTIONS[kind])
    return action


def _merge(into: Config, given: Any, where: str) -> None:
    if not isinstance(given, dict):
        raise InputError(f"{where} must be a dictionary, got {shown(given)}")
    for key, value in given.items():
        if key not in into:
            raise InputError(f"{where} has no setting {shown(key)}{nearest(key, into)}")
        into[key] = copy.deepcopy(value)


def limited(config: Config, steps: int, now: float = 0.0) -> Config:
    """Return the configuration with a duration that ends after so many more steps at the latest.

    The time is summed step by step as both simulators do it, so that rounding is the same.
    """
    end, duration = now, config["duration"]
    for _ in range(steps):
        end += 1 / config["policy_frequency"]
    return config | {"duration": end if duration is None else min(end, duration)}


def _check(task: TrafficTask, config: Config) -> None:
    simulation = whole(config, "simulation_frequency", 1, 1000)
    policy = whole(config, "policy_frequency", 1, 1000)
    if simulation % policy:
        raise InputError(
            f"simulation_frequency must be a multiple of policy_frequency, got {simulation} and "
            f"{policy}"
        )
    if config["duration"] is not None:
        number(config, "duration", 1e-9, 1e9)
    for key in config:
        if key.endswith(("_reward", "_constraint")) and key not in (
            "normalize_reward",
            "speed_reward",
        ):
            number(config, key, -1e6, 1e6)
        if key in ("idm_speed_limit", "normalize_reward", "offroad_terminal"):
            flag(config, key)
    one_of(config, "speed_reward", ("speed", "index"))
    pair(config, "reward_speed_range")
    _check_drawing(config)
    task.check(config)
    task.vehicles(config)
    _check_observation(config["observation"])
    _check_action(task, config)


def _check_drawing(config: Config) -> None:
    for key in DRAWING:
        if key not in config or (key == "offscreen_rendering" and config[key] is None):
            continue
        if key.startswith("screen_"):
            whole(config, key, 16, 8192)
        elif key == "scaling":
            number(config, key, 0.1, 100)
        elif key == "centering_position":
            position = config[key]
            if not is_list(position) or len(position) != 2:
                raise InputError(f"{key} must be two shares of the screen, got {shown(position)}")
            for share in position:
                number({key: share}, key, -10, 10)
        else:
            flag(config, key)


def _check_observation(observation: Config) -> None:
    for key, value in _OBSERVATION_FIXED.items():
        fixed(observation, key, value, "observation")
    whole(observation, "vehicles_count", 1, 1000)
    features = observation["features"]
    if features is None or features == []:
        features = observation["features"] = list(OBSERVATION["features"])
    if not isinstance(features, list | tuple) or not 1 <= len(features) <= records.MAX_FEATURES:
        most = records.MAX_FEATURES
        raise InputError(f"features must be 1 to {most} names, got {shown(features)}")
    for name in features:
        if not isinstance(name, str) or name not in FEATURES:
            raise InputError(f"there is no feature {shown(name)}{nearest(name, FEATURES)}")
    for key in ("absolute", "normalize", "clip", "see_behind", "include_obstacles"):
        flag(observation, key)
    ranges = observation["features_range"]
    if ranges is not None:
        if not isinstance(ranges, dict):
            raise InputError(f"features_range must be a dictionary or None, got {shown(ranges)}")
        for name in ranges:
            pair(ranges, name)


def _check_action(task: TrafficTask, config: Config) -> None:
    action = config["action"]
    kind = one_of(action, "type", ACTIONS)
    if not (flag(action, "longitudinal") | flag(action, "lateral")):
        raise InputError("an action must be longitudinal, lateral or both, got neither")
    if kind == ACTION["type"]:
        _check_target_speeds(action)
    elif not task.continuous:
        raise InputError(
            f"{task.name} has no continuous actions: its action type must be "
            f"'DiscreteMetaAction', got {kind!r} (TwoWay has both)"
        )
    elif config["speed_reward"] == "index":
        raise InputError(
            "speed_reward must be 'speed' with continuous actions, got 'index': they have no "
            "target speed"
        )
    else:
        _check_continuous(action)


def _check_continuous(action: Config) -> None:
    fixed(action, "dynamical", False, "action")
    flag(action, "clip")
    for key in ("acceleration_range", "steering_range"):
        if action[key] is None:
            action[key] = list(CONTINUOUS[key])
        action[key] = list(pair(action, key))
    if action["speed_range"] is not None:
        low, high = pair(action, "speed_range")
        if not -vehicles.MAX_SPEED <= low <= 0 <= high <= vehicles.MAX_SPEED:
            raise InputError(
                f"speed_range must contain 0 and be within {-vehicles.MAX_SPEED:g} and "
                f"{vehicles.MAX_SPEED:g} here, got {shown(action['speed_range'])}"
            )
        action["speed_range"] = [low, high]


def _check_target_speeds(action: Config) -> None:
    speeds = action["target_speeds"]
    if speeds is None:
        speeds = action["target_speeds"] = list(ACTION["target_speeds"])
    most = records.MAX_TARGET_SPEEDS
    if not is_list(speeds) or not 2 <= len(speeds) <= most:
        raise InputError(f"target_speeds must be 2 to {most} speeds, got {shown(speeds)}")
    for speed in speeds:
        number({"target_speeds": speed}, "target_speeds", -40, 40)
    if not speeds[0] < speeds[-1]:
        raise InputError(f"target_speeds must rise, got {shown(speeds)}")
