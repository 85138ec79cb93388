"""Translate configurations: ours for highway-env, and highway-env's for us."""

from __future__ import annotations

import copy
import math

from policy_inertia.envs.highway.config import (
    ACTIONS,
    DRAWING,
    FIXED,
    OBSERVATION,
    configuration,
)
from policy_inertia.envs.highway.simulator.controls import is_continuous
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask, Upstream
from policy_inertia.errors import InputError

# the fields of `Traffic` by highway-env's names
TRAFFIC_CONSTANTS = {
    "DISTANCE_WANTED": "distance_wanted",
    "COMFORT_ACC_MAX": "comfort_acceleration",
    "COMFORT_ACC_MIN": "comfort_braking",
}
_OURS = {"idm_speed_limit", "speed_reward"}  # common settings that highway-env does not have


def counterpart(task: TrafficTask) -> Upstream:
    """Return a task's counterpart in highway-env; raise `InputError` if it has none."""
    if task.upstream is None:
        raise InputError(
            f"{task.name} has no counterpart in highway-env: it cannot be drawn, compared or run "
            "there"
        )
    return task.upstream


def class_path(task: TrafficTask, config: Config) -> str:
    """Return highway-env's class for a configuration, as "module:name"."""
    upstream = counterpart(task)
    if is_continuous(config["action"]):
        return upstream.continuous_class_path or upstream.class_path
    return upstream.class_path


def exact_configuration(task: TrafficTask, config: Config) -> Config:
    """Return the configuration with which highway-env does the same as our simulator.

    Raises:
        InputError: if highway-env lacks something that the configuration needs.
    """
    upstream = counterpart(task)
    least, most = task.vehicles(config)
    missing = {
        f"{most} vehicles": upstream.vehicles not in (None, most),
        "a number of vehicles that is drawn": least != most,
        "idm_speed_limit=False": not config["idm_speed_limit"],
    } | upstream.missing(config)
    for feature, needed in missing.items():
        if needed:
            raise InputError(f"highway-env's {upstream.id} does not know {feature}")
    return nearest_configuration(task, config)


def nearest_configuration(task: TrafficTask, config: Config) -> Config:
    """Return the configuration for highway-env without what highway-env does not know."""
    nearest = {key: copy.deepcopy(value) for key, value in config.items() if key not in _OURS}
    if nearest["duration"] is None:
        nearest["duration"] = math.inf
    if counterpart(task).vehicles is None and "vehicles_count" in nearest:
        _, nearest["vehicles_count"] = task.vehicles(config)
    return nearest


def has_upstream_reward(task: TrafficTask, config: Config) -> bool:
    """Return whether highway-env computes the configured reward."""
    return not any(counterpart(task).missing(config).values())


def configuration_from(task: TrafficTask, upstream_config: Config) -> Config:
    """Return our configuration that does what highway-env does with one of its own.

    Settings that highway-env never reads keep the value that matches its behaviour.
    """
    full = configuration(task, preset="upstream")
    unread = _OURS | counterpart(task).unread
    config = {
        key: value
        for key, value in upstream_config.items()
        if (key in full and key not in unread) or key in DRAWING or key in FIXED
    }
    for key, known in (("observation", {"Kinematics": OBSERVATION}), ("action", ACTIONS)):
        kind = config[key].get("type")
        if kind not in known:
            raise InputError(
                f"{key} type must be {' or '.join(map(repr, known))} here, got {kind!r}"
            )
        default = known[kind]
        config[key] = default | config[key]  # highway-env does not merge them with the task's own
    if config.get("duration") == math.inf:
        config["duration"] = None
    return configuration(task, config, preset="upstream")
