"""Run highway-env and record what it does. `parity` runs this file as a script.

highway-env needs a process of its own for two reasons. Its intersection changes the traffic's
constants for every env that the process makes later. And NumPy chooses its arithmetic at import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

NUMBERS = ("x", "y", "heading", "speed", "target_speed", "delta", "timer")
FLAGS = ("crashed", "lane", "target_lane", "route_left")


def record(request: dict[str, Any]) -> dict[str, np.ndarray]:
    """Take the requested actions from each seed; return padded arrays over (seed, time, vehicle).

    `length` is the number of steps without an error: in Two-Way highway-env divides by zero when
    the ego is closest to the oncoming lane.
    """
    import highway_env  # noqa: F401  (registers its envs)

    env_class: Any = gym.envs.registration.load_env_creator(request["class"])
    env = env_class(config=request["config"])
    seeds, actions = request["seeds"], request["actions"]
    steps, width = len(actions[0]), request["capacity"]
    shape = (len(seeds), steps + 1)
    out = {name: np.zeros((*shape, width)) for name in NUMBERS}
    out |= {name: np.full((*shape, width), -1, np.int64) for name in FLAGS}
    out |= {name: np.zeros(shape, np.int64) for name in ("vehicles", "ego")}
    out |= {name: np.zeros(shape, bool) for name in ("terminated", "truncated")}
    out["reward"] = np.zeros(shape)
    out["length"] = np.full(len(seeds), steps)
    out["generator"] = np.zeros((len(seeds), 6), np.uint64)
    seen = []
    for k, seed in enumerate(seeds):
        obs, _ = env.reset(seed=seed)
        seen.append(np.zeros((steps + 1, *obs.shape), np.float32))
        seen[k][0] = obs
        _write(env, out, k, 0)
        for t, action in enumerate(actions[k], start=1):
            if isinstance(action, list):  # continuous, of the action space's type
                action = np.array(action, np.float32)
            try:
                obs, reward, terminated, truncated, _ = env.step(action)
            except ZeroDivisionError:
                out["length"][k] = t - 1
                break
            seen[k][t] = obs
            out["reward"][k, t] = reward
            out["terminated"][k, t], out["truncated"][k, t] = terminated, truncated
            _write(env, out, k, t)
        state = env.np_random.bit_generator.state
        word, low = state["state"], (1 << 64) - 1
        halves = [word["state"] >> 64, word["state"] & low, word["inc"] >> 64, word["inc"] & low]
        out["generator"][k] = [*halves, state["has_uint32"], state["uinteger"]]
    return out | {"seen": np.array(seen)}


def _write(env: Any, out: dict[str, np.ndarray], k: int, t: int) -> None:
    index = {lane: i for i, lane in enumerate(env.road.network.lanes_dict())}
    vehicles = env.road.vehicles
    out["vehicles"][k, t] = len(vehicles)
    out["ego"][k, t] = vehicles.index(env.vehicle)
    for i, vehicle in enumerate(vehicles):
        for name, value in vehicle_numbers(vehicle, index).items():
            out[name][k, t, i] = value


def vehicle_numbers(vehicle: Any, index: Mapping[Any, int]) -> dict[str, Any]:
    """Return NUMBERS and FLAGS of one of highway-env's vehicles; `index` numbers the lanes."""
    numbers = (
        *vehicle.position,
        vehicle.heading,
        vehicle.speed,
        getattr(vehicle, "target_speed", 0.0),  # an ego with continuous actions has no targets
        getattr(vehicle, "DELTA", 0.0),
        getattr(vehicle, "timer", 0.0),
    )
    target = getattr(vehicle, "target_lane_index", vehicle.lane_index)
    flags = (vehicle.crashed, index[vehicle.lane_index], index[target], len(route_of(vehicle)))
    return dict(zip(NUMBERS + FLAGS, numbers + flags, strict=True))


def route_of(vehicle: Any) -> list[Any]:
    """Return the lanes of a vehicle's route, none if it has no route."""
    return getattr(vehicle, "route", None) or []


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        request = json.load(file)
    arrays: dict[str, Any] = record(request)
    np.savez(sys.argv[2], **arrays)
