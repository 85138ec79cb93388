"""The two compiled calls on a batch of scenes, compiled once for each task.

A call is compiled with the task's own functions in it. So the code has no branches on tasks, a
user of one task compiles the code of that task alone, and a new task needs no change here.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np
from numba.core import event

from policy_inertia.envs.highway.simulator.jit import (
    Record,
    Rows,
    compiled,
    entry_point,
    source_digest,
    with_globals,
)
from policy_inertia.envs.highway.simulator.observation import observe
from policy_inertia.envs.highway.simulator.records import NOBODY
from policy_inertia.envs.highway.simulator.rewards import on_road
from policy_inertia.envs.highway.simulator.task import TrafficTask
from policy_inertia.envs.highway.simulator.traffic import tick
from policy_inertia.envs.highway.simulator.vehicles import decide, settle

own: Any = None  # the task's own functions; `entry_points` gives this name its value


def begin_batch(
    scenes: np.ndarray,
    lanes: np.ndarray,
    roads: np.ndarray,
    settings: np.ndarray,
    mask: np.ndarray,
    seen: np.ndarray,
    outcomes: np.ndarray,
) -> None:
    """Begin an episode in the masked scenes."""
    for k in range(len(scenes)):
        if mask[k]:
            scene, outcome = scenes[k], outcomes[k]
            _clear(scene)
            own.begin(scene, lanes, roads, settings[0])
            observe(scene, lanes, roads, settings[0], seen[k])
            own.report(scene, lanes, settings[0], outcome)
            outcome.reward = 0.0
            outcome.terminated = outcome.truncated = False


def step_batch(
    scenes: np.ndarray,
    lanes: np.ndarray,
    roads: np.ndarray,
    settings: np.ndarray,
    actions: np.ndarray,
    moving: bool,
    seen: np.ndarray,
    outcomes: np.ndarray,
) -> None:
    """Take one action in every scene; with `moving` unset, only evaluate the scenes as they are."""
    for k in range(len(scenes)):
        scene = scenes[k]
        if moving:
            _move(scene, lanes, roads, settings[0], actions[k])
        else:
            settle(scene, lanes)
        own.judge(scene, lanes, roads, settings[0], actions[k], outcomes[k])
        observe(scene, lanes, roads, settings[0], seen[k])
        if moving:
            own.after_step(scene, lanes, settings[0])


@compiled
def _clear(scene: Record) -> None:
    """Take everything off the road."""
    scene.vehicles = scene.obstacles = scene.ticks = scene.side_lanes = scene.speed_index = 0
    scene.ego = NOBODY
    scene.time = 0.0
    scene.running = True


@compiled
def _move(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, settings: Record, action: int
) -> None:
    """Take the ego's action and simulate the ticks until its next one."""
    scene.time += settings.decision_time
    if not settings.continuous:  # else `Simulation` has written the ego's controls
        decide(scene, lanes, roads, settings, settings.actions[action])
    for _ in range(settings.frames):
        tick(scene, lanes, roads, settings)


def report(scene: Record, lanes: np.ndarray, settings: Record, outcome: Record) -> None:
    """Write what `info` says about the ego."""
    ego = scene.ego
    outcome.crashed = scene.crashed[ego] != 0
    outcome.arrived = own.arrived(scene, lanes, settings)
    outcome.speed = scene.speed[ego]
    outcome.lane = lanes[scene.lane[ego]].number
    outcome.cost = own.cost(scene, lanes, settings)


def judge(
    scene: Record, lanes: Rows, roads: Rows, settings: Record, action: int, outcome: Record
) -> None:
    """Write the reward of the action that led to this scene, and whether the episode ends here."""
    own.report(scene, lanes, settings, outcome)
    outcome.reward = own.reward(scene, lanes, roads, settings, action, outcome)
    outcome.terminated = own.terminated(scene, lanes, settings, outcome)
    if settings.offroad_terminal and not on_road(scene, lanes):
        outcome.terminated = True
    outcome.truncated = scene.time >= settings.duration
    scene.running = not (outcome.terminated or outcome.truncated)


@functools.cache
def entry_points(task: TrafficTask) -> tuple[Any, Any]:
    """Return `begin_batch` and `step_batch` for a task; Numba compiles them at their first call."""
    functions = types.ModuleType(f"functions of {task.name}")  # Numba reads names of modules only
    vars(functions).update(task.compiled_functions)
    vars(functions)["report"] = compiled(with_globals(report, own=functions))
    vars(functions)["judge"] = compiled(with_globals(judge, own=functions))
    key = f"{task.name}_{source_digest(task.files)}"
    begin, step = (
        entry_point(with_globals(function, own=functions), f"{function.__name__}_{key}")
        for function in (begin_batch, step_batch)
    )
    _Announcement.tasks |= {begin: task.name, step: task.name}
    return begin, step


class _Announcement(event.Listener):
    """Prints that a task is being compiled, because that takes longer than one expects."""

    tasks: dict[Any, str] = {}  # noqa: RUF012  (the name of the task of each entry point)
    announced: set[str] = set()  # noqa: RUF012

    def on_start(self, event: event.Event) -> None:
        name = self.tasks.get(event.data["dispatcher"])
        if name is not None and name not in self.announced:
            self.announced.add(name)
            print(f"compiling {name}: about 20 seconds, once", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())
