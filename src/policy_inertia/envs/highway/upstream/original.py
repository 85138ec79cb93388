"""highway-env's own env for a task: make it, read its state, write its state, draw it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.highway.simulator import generator, records
from policy_inertia.envs.highway.simulator.lanes import WIDTH
from policy_inertia.envs.highway.simulator.observation import RANGES
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask
from policy_inertia.envs.highway.upstream.configuration import (
    TRAFFIC_CONSTANTS,
    class_path,
    counterpart,
    nearest_configuration,
)
from policy_inertia.envs.highway.upstream.recorder import route_of, vehicle_numbers
from policy_inertia.errors import InputError

UPSTREAM_VERSION = "1.12.1"
OURS = "policy_inertia"  # the key under which highway-env's configuration holds the whole of ours
_DRIVERS = "policy_inertia.envs.highway.upstream.drivers"  # highway-env imports it by its name


def require_upstream(feature: str) -> None:
    """Raise `InputError` if the supported version of highway-env is not installed."""
    try:
        version = importlib.metadata.version("highway-env")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != UPSTREAM_VERSION:
        raise InputError(
            f"{feature} needs highway-env {UPSTREAM_VERSION}, and {version} is installed: "
            f"pip install highway-env=={UPSTREAM_VERSION}"
        )


def make_original(task: TrafficTask, config: Config, render_mode: str | None = None) -> Any:
    """Return highway-env's env for a task; settings that highway-env does not know are dropped."""
    upstream = counterpart(task)
    require_upstream("highway-env's own simulator")
    import highway_env  # noqa: F401  (registers its envs)

    upstream_config = nearest_configuration(task, config)
    upstream_config["other_vehicles_type"] = f"{_DRIVERS}.{task.name}Driver"
    upstream_config[OURS] = config
    # not by gym.make, which recommends later versions of merge and intersection
    env_class: Any = gym.envs.registration.load_env_creator(class_path(task, config))
    original = env_class(config=upstream_config, render_mode=render_mode)
    original.spec = gym.registry[upstream.id]
    original.road.idm_speed_limit = config["idm_speed_limit"]
    return original


def draw(original: Any) -> np.ndarray | None:
    """Return what highway-env's `render` returns; an image needs no screen."""
    from highway_env.envs.common.graphics import EnvViewer

    if original.viewer is None:
        offscreen = original.config["offscreen_rendering"]
        with _without_screen() if offscreen else contextlib.nullcontext():
            original.viewer = EnvViewer(original)
        if offscreen:
            original.viewer.enabled = True  # highway-env draws nothing with SDL's dummy driver
    return original.render()


@contextlib.contextmanager
def _without_screen() -> Iterator[None]:
    """Let SDL use its dummy driver if there is no screen: it needs one even to draw off screen."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    if sys.platform != "linux" or any(os.environ.get(name) for name in screens):
        yield
        return
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        yield
    finally:
        del os.environ["SDL_VIDEODRIVER"]


def read(original: Any, simulation: Simulation) -> None:
    """Write the original's state into our scene; call `Simulation.adopt` afterwards."""
    scene = simulation.scenes[0]
    road, ego = original.road, original.vehicle
    index = simulation.tables.network.numbers
    scene["vehicles"], scene["obstacles"] = len(road.vehicles), len(road.objects)
    scene["ego"] = road.vehicles.index(ego)
    scene["speed_index"] = getattr(ego, "speed_index", 0)  # none with continuous actions
    scene["side_lanes"] = _side_lanes(original)
    scene["ticks"] = getattr(road, "steps", original.steps)
    scene["time"] = original.time
    scene["rng"] = generator.from_numpy(original.np_random.bit_generator)
    for i, vehicle in enumerate(road.vehicles):
        for name, value in vehicle_numbers(vehicle, index).items():
            if name in (scene.dtype.names or ()):
                scene[name][i] = value
        scene["steering"][i] = vehicle.action["steering"]
        scene["acceleration"][i] = vehicle.action["acceleration"]
        scene["impacted"][i] = vehicle.impact is not None
        push = (0.0, 0.0) if vehicle.impact is None else vehicle.impact
        scene["impact_x"][i], scene["impact_y"][i] = push
        scene["changes_lanes"][i] = getattr(vehicle, "enable_lane_change", True)
        scene["yielding"][i] = getattr(vehicle, "is_yielding", False)
        route = [index[origin, end, number or 0] for origin, end, number in route_of(vehicle)]
        scene["route_head"][i] = records.ROUTE - len(route)
        scene["route"][records.ROUTE - len(route) :, i] = route
    for i, obstacle in enumerate(road.objects, start=len(road.vehicles)):
        scene["x"][i], scene["y"][i] = obstacle.position
        scene["heading"][i], scene["speed"][i] = obstacle.heading, obstacle.speed
        scene["crashed"][i] = obstacle.crashed


def _side_lanes(original: Any) -> int:
    """Return the number of lanes that scales an observation's y; the first observation sets it."""
    ranges = original.observation_type.features_range
    if original.config["observation"].get("features_range") is None and ranges:
        return round(ranges["y"][1] / WIDTH)
    return len(original.road.network.all_side_lanes(original.vehicle.lane_index))


def write(simulation: Simulation, original: Any) -> None:
    """Write our scene's state into the original."""
    from highway_env.vehicle.objects import Obstacle

    scene, road = simulation.scenes[0], original.road
    original.np_random = road.np_random = generator.to_numpy(scene["rng"])
    original.time = float(scene["time"])
    ticks = int(scene["ticks"])
    original.steps = ticks - int(simulation.tables.settings["warm_up"][0])
    if hasattr(road, "steps"):  # a road with a right of way counts its own
        road.steps = ticks
    count = int(scene["vehicles"])
    road.vehicles = [_vehicle(simulation, original, i) for i in range(count)]
    original.vehicle = road.vehicles[int(scene["ego"])]
    road.objects = []
    for i in range(count, count + int(scene["obstacles"])):
        obstacle = Obstacle(road, [scene["x"][i], scene["y"][i]], scene["heading"][i].item())
        obstacle.crashed = bool(scene["crashed"][i])
        road.objects.append(obstacle)
    original.define_spaces()  # they refer to the vehicles
    if simulation.config["observation"]["features_range"] is None:
        across = WIDTH * int(scene["side_lanes"])
        ranges = RANGES | {"y": across}
        original.observation_type.features_range = {k: [-v, v] for k, v in ranges.items()}


def _vehicle(simulation: Simulation, original: Any, i: int) -> Any:
    """Return vehicle `i` of our scene as one of highway-env's."""
    from highway_env import utils

    scene, settings = simulation.scenes[0], simulation.tables.settings[0]
    names = list(simulation.tables.network.numbers)
    is_ego = i == scene["ego"]
    vehicle_class = (
        original.action_type.vehicle_class
        if is_ego
        else utils.class_from_path(original.config["other_vehicles_type"])
    )
    heading, speed = scene["heading"][i].item(), scene["speed"][i].item()
    vehicle = vehicle_class(original.road, [scene["x"][i], scene["y"][i]], heading, speed)
    vehicle.lane_index = names[scene["lane"][i]]
    vehicle.lane = original.road.network.get_lane(vehicle.lane_index)
    vehicle.crashed = bool(scene["crashed"][i])
    vehicle.action = {name: scene[name][i].item() for name in ("steering", "acceleration")}
    if scene["impacted"][i]:
        vehicle.impact = np.array([scene["impact_x"][i], scene["impact_y"][i]])
    if is_ego and simulation.continuous:
        return vehicle  # it has no targets and no route
    vehicle.target_lane_index = names[scene["target_lane"][i]]
    vehicle.target_speed = scene["target_speed"][i].item()
    if simulation.task.routes:
        # highway-env names the first lane of a route, and only the roads of the others
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
    for constant, field in TRAFFIC_CONSTANTS.items():
        if getattr(vehicle, constant) != settings[field]:
            setattr(vehicle, constant, settings[field].item())
    return vehicle
