"""The bridge to highway-env: one of its live objects as ours in the same state, and back.

Between the two a state is numbers: `read` takes them from the original, `write` puts them there.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from policy_inertia.envs.highway.config import (
    TASKS,
    Config,
    TaskSpec,
    configuration_of,
    limited,
    nearest_configuration,
)
from policy_inertia.envs.highway.env import TrafficEnv
from policy_inertia.envs.highway.simulator import generator, records, vehicles
from policy_inertia.envs.highway.simulator.lanes import WIDTH, centre
from policy_inertia.envs.highway.simulator.observation import RANGES
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.upstream import recorder as upstream
from policy_inertia.errors import InputError

UPSTREAM_VERSION = "1.12.1"
_OURS = "policy_inertia"  # where in an original's configuration the whole of ours is kept

# constants of an IDM vehicle, by highway-env's names: those in a task's record, and the rest
_PER_TASK = {
    "DISTANCE_WANTED": "distance_wanted",
    "COMFORT_ACC_MAX": "comfort_acceleration",
    "COMFORT_ACC_MIN": "comfort_braking",
}
_SAME = {
    "ACC_MAX": vehicles.MAX_ACCELERATION,
    "TIME_WANTED": vehicles.TIME_WANTED,
    "POLITENESS": 0.0,
    "LANE_CHANGE_DELAY": vehicles.CHANGE_DELAY,
    "LANE_CHANGE_MIN_ACC_GAIN": vehicles.CHANGE_GAIN,
    "LANE_CHANGE_MAX_BRAKING_IMPOSED": vehicles.CHANGE_BRAKING,
    "check_collisions": True,
}


def require_upstream(what: str) -> None:
    """Refuse, with what to install, where the highway-env that we know is not there."""
    try:
        version = importlib.metadata.version("highway-env")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != UPSTREAM_VERSION:
        raise InputError(
            f"{what} needs highway-env {UPSTREAM_VERSION}, and {version} is installed: "
            f"pip install highway-env=={UPSTREAM_VERSION}"
        )


def from_upstream(env: gym.Env, render_mode: str | None = None) -> TrafficEnv:
    """Our env in the state of a live highway-env object, so that both go on alike.

    `env` is one of highway-v0, merge-v0, intersection-v0 and two-way-v0, as `gym.make` gives it or
    unwrapped. A limit of steps that `gym.make` put around it becomes our `duration`.
    """
    require_upstream("from_upstream")
    original, limit = _unwrapped(env)
    spec = _task_of(original)
    if original.road is None or original.vehicle is None:
        raise InputError(f"{spec.upstream_id} has no state yet: reset it first")
    config = _configuration(spec, original.config)
    if limit is not None:
        allowed, taken = limit
        config = limited(config, allowed - taken, original.time)
    made = TrafficEnv(spec.name, config, "upstream", render_mode)
    road = original.road
    entries = len(road.vehicles) + len(road.objects) + 2  # with room for who comes next
    if entries > max(records.CAPACITIES):
        raise InputError(
            f"a scene has room for {max(records.CAPACITIES) - 2} vehicles and obstacles, and "
            f"{spec.upstream_id} has {entries - 2}: take some off its road"
        )
    made.simulation = Simulation(spec, made.config, 1, entries)
    _check_lanes(original, made.simulation)
    _check_traffic(original, made.simulation)
    read(original, made.simulation)
    made.simulation.adopt(np.zeros(1, np.int64))
    made.simulation.outcomes["reward"] = 0.0
    return made


def to_upstream(env: gym.Env, render_mode: str | None = None) -> Any:
    """highway-env's own env in the state of ours, unwrapped, so that both go on alike.

    Its `reset` draws as highway-env draws. It has no `duration` on Merge and Two-Way, and it keeps
    our whole configuration, so that `from_upstream` gives the same env again.
    """
    ours = env.unwrapped
    if not isinstance(ours, TrafficEnv):
        raise InputError(f"to_upstream takes one of our Highway envs, got {type(ours).__name__}")
    if not ours.simulation.scenes["vehicles"][0]:
        raise InputError("the env has no state yet: reset it first")
    original = make_original(ours.simulation.spec, ours.config, render_mode)
    write(ours.simulation, original)
    return original


def make_original(spec: TaskSpec, config: Config, render_mode: str | None = None) -> Any:
    """highway-env's env for a task of ours, with any start; what it does not know is left out."""
    require_upstream("highway-env's own simulator")
    import highway_env  # noqa: F401  (registers its envs)

    from policy_inertia.envs.highway.upstream import drivers

    kind = drivers.CrossingDriver if spec.kind == records.INTERSECTION else drivers.Driver
    given = nearest_configuration(spec, config)
    given["other_vehicles_type"] = f"{kind.__module__}.{kind.__name__}"
    given[_OURS] = config
    # not by gym.make, which advises the later versions of merge and intersection
    maker: Any = gym.envs.registration.load_env_creator(spec.upstream_class)
    original = maker(config=given, render_mode=render_mode)
    original.spec = gym.registry[spec.upstream_id]
    original.road.idm_speed_limit = config["idm_speed_limit"]
    return original


def draw(original: Any) -> np.ndarray | None:
    """What the original's own `render` gives; an image needs no screen, whatever SDL is told."""
    from highway_env.envs.common.graphics import EnvViewer

    if original.viewer is None:
        unseen = original.config["offscreen_rendering"]
        with _without_screen() if unseen else contextlib.nullcontext():
            original.viewer = EnvViewer(original)
        if unseen:
            original.viewer.enabled = True  # highway-env draws nothing for SDL's dummy driver
    return original.render()


@contextlib.contextmanager
def _without_screen() -> Iterator[None]:
    """SDL looks for a screen even to draw on none; where there is none, tell it so."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    if sys.platform != "linux" or any(os.environ.get(name) for name in screens):
        yield
        return
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        yield
    finally:
        del os.environ["SDL_VIDEODRIVER"]


# --- numbers in, numbers out ---


def read(original: Any, simulation: Simulation) -> None:
    """Write the original's state into our scene; `Simulation.adopt` must follow."""
    scene = simulation.scenes[0]
    road, ego = original.road, original.vehicle
    index = simulation.tables.network.numbers
    scene["vehicles"], scene["obstacles"] = len(road.vehicles), len(road.objects)
    scene["ego"] = road.vehicles.index(ego)
    scene["speed_index"] = ego.speed_index
    scene["side_lanes"] = _side_lanes(original)
    scene["ticks"] = getattr(road, "steps", original.steps)
    scene["time"] = original.time
    scene["rng"] = generator.words(original.np_random.bit_generator)
    for i, vehicle in enumerate(road.vehicles):
        for name, value in upstream.numbers_of(vehicle, index).items():
            if name in (scene.dtype.names or ()):
                scene[name][i] = value
        scene["steering"][i] = vehicle.action["steering"]
        scene["acceleration"][i] = vehicle.action["acceleration"]
        scene["impacted"][i] = vehicle.impact is not None
        push = (0.0, 0.0) if vehicle.impact is None else vehicle.impact
        scene["impact_x"][i], scene["impact_y"][i] = push
        scene["changes_lanes"][i] = getattr(vehicle, "enable_lane_change", True)
        scene["yielding"][i] = getattr(vehicle, "is_yielding", False)
        route = [index[origin, end, number or 0] for origin, end, number in vehicle.route or []]
        scene["route_head"][i] = records.ROUTE - len(route)
        scene["route"][records.ROUTE - len(route) :, i] = route
    for i, obstacle in enumerate(road.objects, start=len(road.vehicles)):
        scene["x"][i], scene["y"][i] = obstacle.position
        scene["heading"][i], scene["speed"][i] = obstacle.heading, obstacle.speed
        scene["crashed"][i] = obstacle.crashed


def write(simulation: Simulation, original: Any) -> None:
    """Put our scene's state into the original."""
    from highway_env.vehicle.objects import Obstacle

    scene, task = simulation.scenes[0], simulation.tables.task[0]
    road = original.road
    original.np_random = road.np_random = generator.restored(scene["rng"])
    original.time = float(scene["time"])
    original.steps = ticks = int(scene["ticks"])
    if simulation.spec.kind == records.INTERSECTION:
        road.steps = ticks
        original.steps = ticks - int(task["warm_up"])
    count = int(scene["vehicles"])
    road.vehicles = [_vehicle(simulation, original, i) for i in range(count)]
    original.vehicle = road.vehicles[int(scene["ego"])]
    road.objects = []
    for i in range(count, count + int(scene["obstacles"])):
        obstacle = Obstacle(road, [scene["x"][i], scene["y"][i]], scene["heading"][i].item())
        obstacle.crashed = bool(scene["crashed"][i])
        road.objects.append(obstacle)
    original.define_spaces()  # anew, for the new vehicles
    if simulation.config["observation"]["features_range"] is None:
        across = WIDTH * int(scene["side_lanes"])
        ranges = RANGES | {"y": across}
        original.observation_type.features_range = {k: [-v, v] for k, v in ranges.items()}


def _vehicle(simulation: Simulation, original: Any, i: int) -> Any:
    from highway_env import utils

    scene, task, road = simulation.scenes[0], simulation.tables.task[0], original.road
    names = list(simulation.tables.network.numbers)
    is_ego = i == scene["ego"]
    kind = (
        original.action_type.vehicle_class
        if is_ego
        else utils.class_from_path(original.config["other_vehicles_type"])
    )
    heading, speed = scene["heading"][i].item(), scene["speed"][i].item()
    vehicle = kind(road, [scene["x"][i], scene["y"][i]], heading, speed)
    vehicle.lane_index = names[scene["lane"][i]]
    vehicle.lane = road.network.get_lane(vehicle.lane_index)
    vehicle.target_lane_index = names[scene["target_lane"][i]]
    vehicle.target_speed = scene["target_speed"][i].item()
    vehicle.crashed = bool(scene["crashed"][i])
    vehicle.action = {name: scene[name][i].item() for name in ("steering", "acceleration")}
    if scene["impacted"][i]:
        vehicle.impact = np.array([scene["impact_x"][i], scene["impact_y"][i]])
    if simulation.spec.kind == records.INTERSECTION:
        # a route's first lane is named, the others are known by their roads
        legs = [(leg, names[scene["route"][leg, i]]) for leg in range(records.ROUTE)]
        legs = legs[int(scene["route_head"][i]) :]
        vehicle.route = [lane if leg == 0 else (*lane[:2], None) for leg, lane in legs]
    if is_ego:
        vehicle.speed_index = int(scene["speed_index"])
        return vehicle
    vehicle.DELTA = scene["delta"][i].item()
    vehicle.timer = scene["timer"][i].item()
    vehicle.enable_lane_change = bool(scene["changes_lanes"][i])
    if scene["yielding"][i]:
        vehicle.is_yielding, vehicle.yield_timer, vehicle.color = True, 0, None
    for name, ours in _PER_TASK.items():
        if getattr(vehicle, name) != task[ours]:
            setattr(vehicle, name, task[ours].item())
    return vehicle


def _side_lanes(original: Any) -> int:
    """How many lanes scale an observation's y, which the first observation settles."""
    settled = original.observation_type.features_range
    if original.config["observation"].get("features_range") is None and settled:
        return round(settled["y"][1] / WIDTH)
    return len(original.road.network.all_side_lanes(original.vehicle.lane_index))


# --- what the bridge cannot carry: one sentence each ---


def _unwrapped(env: gym.Env) -> tuple[Any, tuple[int, int] | None]:
    """The env itself, and its limit of steps and those taken where `gym.make` has put one."""
    limit = None
    while isinstance(env, gym.Wrapper):
        around = type(env).__name__
        if isinstance(env, OrderEnforcing) and not env.has_reset:
            raise InputError("the env has no state yet: reset it first")
        if isinstance(env, TimeLimit):
            limit = (env._max_episode_steps, env._elapsed_steps or 0)
        elif not isinstance(env, OrderEnforcing | PassiveEnvChecker):
            raise InputError(
                f"{around} is around the env and cannot be carried over: give env.unwrapped, and "
                "put it around what you get"
            )
        env = env.env
    return env, limit


def _task_of(original: Any) -> TaskSpec:
    home = type(original).__module__
    for spec in TASKS.values():
        if f"{home}:{type(original).__name__}" == spec.upstream_class:
            return spec
    known = ", ".join(spec.upstream_id for spec in TASKS.values())
    raise InputError(f"{type(original).__name__} has no counterpart here: give one of {known}")


def _configuration(spec: TaskSpec, given: Config) -> Config:
    """Ours, where the original was made by us, with what was changed since; else read from it."""
    ours = given.get(_OURS)
    if ours is None:
        return configuration_of(spec, given)
    made = nearest_configuration(spec, ours)
    return ours | {key: given[key] for key in made if repr(given[key]) != repr(made[key])}


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
            f"the road of this {simulation.spec.upstream_id} was changed, and ours is the one that "
            "highway-env makes: leave its lanes as they are"
        )


def _check_traffic(original: Any, simulation: Simulation) -> None:
    """Refuse vehicles that drive differently; take over the constants that differ by task."""
    from highway_env import utils
    from highway_env.vehicle.behavior import IDMVehicle
    from highway_env.vehicle.controller import MDPVehicle
    from highway_env.vehicle.objects import Obstacle

    from policy_inertia.envs.highway.upstream.drivers import CrossingDriver, Driver

    frames = original.config["simulation_frequency"] // original.config["policy_frequency"]
    if original.steps % int(frames):
        raise InputError("the env is between two decisions: finish the running step first")
    if not isinstance(original.np_random.bit_generator, np.random.PCG64):
        raise InputError(
            "the env's random generator must be a PCG64, as Gymnasium makes it, got "
            f"{type(original.np_random.bit_generator).__name__}"
        )
    crossing = simulation.spec.kind == records.INTERSECTION
    known = {IDMVehicle, Driver, CrossingDriver}
    constants = []
    for vehicle in original.road.vehicles:
        is_ego = vehicle is original.vehicle
        kind = type(vehicle).__name__
        if type(vehicle) not in ({MDPVehicle} if is_ego else known):
            raise InputError(
                f"a {kind} has no counterpart here: the ego must be an MDPVehicle and all others "
                "IDMVehicle"
            )
        if len(vehicle.route or []) > (records.ROUTE if crossing else 0):
            raise InputError(
                f"a {kind} has a route of {len(vehicle.route)} lanes, and here only the "
                f"intersection has routes, of {records.ROUTE} lanes at most"
            )
        if is_ego:
            continue
        for name, value in _SAME.items():
            if getattr(vehicle, name) != value:
                raise InputError(
                    f"a vehicle's {name} must be {value} here, got {getattr(vehicle, name)}"
                )
        constants.append(tuple(getattr(vehicle, name) for name in _PER_TASK))
    if any(type(thing) is not Obstacle for thing in original.road.objects):
        raise InputError("of objects on the road only Obstacle has a counterpart here")
    if len(set(constants)) > 1:
        raise InputError(f"all traffic must have the same {', '.join(_PER_TASK)}")
    if not constants:
        kind = utils.class_from_path(original.config["other_vehicles_type"])
        constants = [tuple(getattr(kind, name) for name in _PER_TASK)]
    for name, value in zip(_PER_TASK.values(), constants[0], strict=True):
        simulation.tables.task[name] = value
