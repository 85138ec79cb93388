"""The bridge to highway-env: one of its live envs as ours in the same state, and back."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from policy_inertia.envs.highway.config import limited
from policy_inertia.envs.highway.env import TrafficEnv
from policy_inertia.envs.highway.simulator import records, vehicles
from policy_inertia.envs.highway.simulator.lanes import centre
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask
from policy_inertia.envs.highway.tasks import TASKS
from policy_inertia.envs.highway.upstream.configuration import (
    TRAFFIC_CONSTANTS,
    configuration_from,
    counterpart,
    nearest_configuration,
)
from policy_inertia.envs.highway.upstream.original import (
    OURS,
    make_original,
    read,
    require_upstream,
    write,
)
from policy_inertia.envs.highway.upstream.recorder import route_of
from policy_inertia.errors import InputError

# constants of highway-env's IDMVehicle that must have our values
_SAME = {
    "ACC_MAX": vehicles.MAX_ACCELERATION,
    "TIME_WANTED": vehicles.TIME_WANTED,
    "POLITENESS": 0.0,
    "LANE_CHANGE_DELAY": vehicles.CHANGE_DELAY,
    "LANE_CHANGE_MIN_ACC_GAIN": vehicles.CHANGE_GAIN,
    "LANE_CHANGE_MAX_BRAKING_IMPOSED": vehicles.CHANGE_BRAKING,
    "check_collisions": True,
}


def from_upstream(env: gym.Env, render_mode: str | None = None) -> TrafficEnv:
    """Return our env in the state of a live highway-env env; both then continue in the same way.

    Args:
        env: highway-v0, merge-v0, intersection-v0 or two-way-v0, as `gym.make` returns it or
            unwrapped. A limit of steps that `gym.make` put around it becomes our `duration`.
        render_mode: that of our env.

    Raises:
        InputError: if the env has something that our simulator does not have.
    """
    require_upstream("from_upstream")
    original, limit = _unwrapped(env)
    task = _task_of(original)
    if original.road is None or original.vehicle is None:
        raise InputError(f"{counterpart(task).id} has no state yet: reset it first")
    config = _configuration(task, original.config)
    if limit is not None:
        allowed, taken = limit
        config = limited(config, allowed - taken, original.time)
    ours = TrafficEnv(task.name, config, "upstream", render_mode)
    road = original.road
    entries = len(road.vehicles) + len(road.objects) + 2  # room for two more
    if entries > max(records.CAPACITIES):
        raise InputError(
            f"a scene has room for {max(records.CAPACITIES) - 2} vehicles and obstacles, and "
            f"{counterpart(task).id} has {entries - 2}: take some off its road"
        )
    ours.simulation = Simulation(task, ours.config, 1, entries)
    _check_lanes(original, ours.simulation)
    _check_traffic(original, ours.simulation)
    read(original, ours.simulation)
    ours.simulation.adopt(np.zeros(1, np.int64))
    ours.simulation.outcomes["reward"] = 0.0
    return ours


def to_upstream(env: gym.Env, render_mode: str | None = None) -> Any:
    """Return highway-env's env in the state of ours, unwrapped; both then continue in the same way.

    Its `reset` draws as highway-env draws. It has no `duration` on Merge and Two-Way. It holds our
    whole configuration, so `from_upstream` returns the same env again.
    """
    ours = env.unwrapped
    if not isinstance(ours, TrafficEnv):
        raise InputError(f"to_upstream takes one of our Highway envs, got {type(ours).__name__}")
    if not ours.simulation.scenes["vehicles"][0]:
        raise InputError("the env has no state yet: reset it first")
    original = make_original(ours.simulation.task, ours.config, render_mode)
    write(ours.simulation, original)
    return original


def _unwrapped(env: gym.Env) -> tuple[Any, tuple[int, int] | None]:
    """Return the env itself; and if it has a limit of steps, the limit and the steps taken."""
    limit = None
    while isinstance(env, gym.Wrapper):
        wrapper = type(env).__name__
        if isinstance(env, OrderEnforcing) and not env.has_reset:
            raise InputError("the env has no state yet: reset it first")
        if isinstance(env, TimeLimit):
            elapsed: int | None = env._elapsed_steps  # None before the first reset
            limit = (env._max_episode_steps, elapsed or 0)
        elif not isinstance(env, OrderEnforcing | PassiveEnvChecker):
            raise InputError(
                f"from_upstream cannot carry the wrapper {wrapper} over: give env.unwrapped, and "
                "wrap the env that you get"
            )
        env = env.env
    return env, limit


def _task_of(original: Any) -> TrafficTask:
    class_path = f"{type(original).__module__}:{type(original).__name__}"
    counterparts = [(task, task.upstream) for task in TASKS.values() if task.upstream]
    for task, upstream in counterparts:
        if class_path in (upstream.class_path, upstream.continuous_class_path):
            return task
    known = ", ".join(upstream.id for _, upstream in counterparts)
    raise InputError(f"{type(original).__name__} has no counterpart here: give one of {known}")


def _configuration(task: TrafficTask, upstream_config: Config) -> Config:
    """Return our configuration for highway-env's.

    An env that we made holds ours; settings that were changed since then are taken over.
    """
    ours = upstream_config.get(OURS)
    if ours is None:
        return configuration_from(task, upstream_config)
    before = nearest_configuration(task, ours)
    return ours | {
        key: upstream_config[key]
        for key in before
        if repr(upstream_config[key]) != repr(before[key])
    }


def _check_lanes(original: Any, simulation: Simulation) -> None:
    network = simulation.tables.network
    theirs = original.road.network.lanes_dict()
    same = list(theirs) == list(network.numbers)
    for lane, ours in zip(theirs.values(), network.lanes, strict=False):
        start = np.array(centre(ours, 0.0))
        same = same and lane.speed_limit == ours["speed_limit"]
        same = same and abs(lane.length - ours["length"]) < 1e-9
        same = same and bool(np.abs(lane.position(0, 0) - start).max() < 1e-9)
    if not same:
        raise InputError(
            f"the road of this {counterpart(simulation.task).id} was changed, and ours is the one "
            "that highway-env makes: leave its lanes as they are"
        )


def _check_traffic(original: Any, simulation: Simulation) -> None:
    """Refuse vehicles that drive differently; copy the constants that tasks may set."""
    from highway_env import utils
    from highway_env.vehicle.objects import Obstacle

    frames = original.config["simulation_frequency"] // original.config["policy_frequency"]
    if original.steps % int(frames):
        raise InputError("the env is between two decisions: finish the running step first")
    if not isinstance(original.np_random.bit_generator, np.random.PCG64):
        raise InputError(
            "the env's random generator must be a PCG64, as Gymnasium makes it, got "
            f"{type(original.np_random.bit_generator).__name__}"
        )
    constants = []
    for vehicle in original.road.vehicles:
        is_ego = vehicle is original.vehicle
        _check_vehicle(vehicle, is_ego, simulation)
        if not is_ego:
            constants.append(tuple(getattr(vehicle, name) for name in TRAFFIC_CONSTANTS))
    if any(type(thing) is not Obstacle for thing in original.road.objects):
        raise InputError("of objects on the road only Obstacle has a counterpart here")
    if len(set(constants)) > 1:
        raise InputError(f"all traffic must have the same {', '.join(TRAFFIC_CONSTANTS)}")
    if not constants:
        driver = utils.class_from_path(original.config["other_vehicles_type"])
        constants = [tuple(getattr(driver, name) for name in TRAFFIC_CONSTANTS)]
    for field, value in zip(TRAFFIC_CONSTANTS.values(), constants[0], strict=True):
        simulation.tables.settings[field] = value


def _check_vehicle(vehicle: Any, is_ego: bool, simulation: Simulation) -> None:
    from highway_env.vehicle.behavior import IDMVehicle
    from highway_env.vehicle.controller import MDPVehicle
    from highway_env.vehicle.kinematics import Vehicle

    from policy_inertia.envs.highway.upstream.drivers import Driver

    kind, ego_kind = type(vehicle), Vehicle if simulation.continuous else MDPVehicle
    known = kind is ego_kind if is_ego else kind is IDMVehicle or issubclass(kind, Driver)
    if not known:
        raise InputError(
            f"a {kind.__name__} has no counterpart here: the ego must be of class "
            f"{ego_kind.__name__} and all others IDMVehicle"
        )
    if len(route_of(vehicle)) > (records.ROUTE if simulation.task.routes else 0):
        raise InputError(
            f"a {kind.__name__} has a route of {len(vehicle.route)} lanes, and here only the "
            f"intersection has routes, of {records.ROUTE} lanes at most"
        )
    if is_ego:
        return
    for name, value in _SAME.items():
        if getattr(vehicle, name) != value:
            raise InputError(
                f"a vehicle's {name} must be {value} here, got {getattr(vehicle, name)}"
            )
