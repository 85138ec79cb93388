"""What a Highway task is: everything in which one task differs from another.

A task is a file in `highway/tasks` that ends with `TASK = TrafficTask(...)`, and a row in
`envs/registry.py`. The functions that are marked as compiled run inside the simulator. They may
use only their own file and the files of `simulator`, because the cache of compiled code depends on
those alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled
from policy_inertia.envs.highway.simulator.lanes import Network

Config = dict[str, Any]
Compiled = Any  # a function compiled with `jit.compiled`


class Traffic(NamedTuple):
    """Constants of the other drivers (IDM): metres and metres per second squared."""

    distance_wanted: float = 10.0
    comfort_acceleration: float = 3.0
    comfort_braking: float = -5.0


@dataclass(frozen=True)
class Upstream:
    """The counterpart of a task in highway-env.

    Attributes:
        id: its Gymnasium id.
        class_path: its class as "module:name".
        vehicles: how many other vehicles it places; None if it reads the number from its
            configuration.
        unread: settings of ours that it never reads.
        missing: for a configuration, the reward terms that highway-env cannot compute, each with
            whether the configuration needs it.
        continuous_class_path: its class for continuous actions, if that is another one.
    """

    id: str
    class_path: str
    vehicles: int | None
    unread: frozenset[str]
    missing: Callable[[Config], dict[str, bool]]
    continuous_class_path: str = ""


@compiled
def never(scene: Record, lanes: np.ndarray, settings: Record) -> bool:
    """No vehicle ever arrives: the default of `arrived`."""
    return False


@compiled
def crashed(scene: Record, lanes: np.ndarray, settings: Record, outcome: Record) -> bool:
    """Only a crash ends the episode: the default of `terminated`."""
    return outcome.crashed


@compiled
def crash_cost(scene: Record, lanes: np.ndarray, settings: Record) -> float:
    """A crash costs 1: the default of `cost`."""
    return float(scene.crashed[scene.ego])


@compiled
def nothing(scene: Record, lanes: np.ndarray, settings: Record) -> None:
    """Nothing happens between two steps: the default of `after_step`."""


def _no_values(config: Config) -> dict[str, Any]:
    return {}


def _no_check(config: Config) -> None:
    pass


@dataclass(frozen=True, eq=False)
class TrafficTask:
    """A Highway task. Its settings have highway-env's names where highway-env has them.

    The first group of attributes is what a task must give, the second group are its compiled
    functions that have defaults, the third group is about its configuration and highway-env.

    Attributes:
        name: the Gymnasium id is `policy_inertia/<name>-v0`.
        network: makes the roads from the configuration.
        vehicles: returns the least and the greatest number of other vehicles; raises `InputError`
            if the configuration has a wrong number.
        begin: compiled, (scene, lanes, roads, settings): puts the vehicles on the empty road and
            makes one of them the ego.
        reward: compiled, (scene, lanes, roads, settings, action, outcome): returns the reward of
            the action that led to this scene.
        defaults: the settings on top of the common ones (`config.py`), with highway-env's values.

        arrived: compiled, (scene, lanes, settings): returns whether the ego is at its goal.
        terminated: compiled, (scene, lanes, settings, outcome): returns whether the episode ends
            in this scene.
        cost: compiled, (scene, lanes, settings): returns `info["cost"]`.
        after_step: compiled, (scene, lanes, settings): changes the scene after each step, when it
            has been observed.

        paper: the paper's settings on top of `defaults`.
        paper_test: the settings on top of `paper` with which the paper evaluates.
        fields: settings that compiled code reads as `settings.<name>`, each with its type: `float`,
            `int` or `bool`.
        values: returns the values of those `fields` that are not equal to the setting of the same
            name, and of common fields (see `records.py`) that the task changes.
        check: raises `InputError` if one of the task's settings is wrong.
        traffic: how the other vehicles drive.
        routes: whether vehicles follow routes.
        continuous: whether `reward` knows an ego with continuous actions, which has no target
            speed and whose target lane is the one that it is on.
        upstream: the counterpart in highway-env; without one the task cannot be drawn.
    """

    name: str
    network: Callable[[Config], Network]
    vehicles: Callable[[Config], tuple[int, int]]
    begin: Compiled
    reward: Compiled
    defaults: Config

    arrived: Compiled = never
    terminated: Compiled = crashed
    cost: Compiled = crash_cost
    after_step: Compiled = nothing

    paper: Config = field(default_factory=dict)
    paper_test: Config = field(default_factory=dict)
    fields: Mapping[str, type] = field(default_factory=dict)
    values: Callable[[Config], Mapping[str, Any]] = _no_values
    check: Callable[[Config], None] = _no_check
    traffic: Traffic = field(default_factory=Traffic)
    routes: bool = False
    continuous: bool = False
    upstream: Upstream | None = None

    @property
    def compiled_functions(self) -> dict[str, Compiled]:
        """The functions that the simulator calls, by their names."""
        names = ("begin", "reward", "arrived", "terminated", "cost", "after_step")
        return {name: getattr(self, name) for name in names}

    @property
    def files(self) -> set[Path]:
        """The source files of the compiled functions."""
        functions = [function.py_func for function in self.compiled_functions.values()]
        return {Path(inspect.getfile(function)) for function in functions}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the task by its module: there is one object per task and process."""
        return _task_in, (self.begin.py_func.__module__,)


def _task_in(module: str) -> TrafficTask:
    return import_module(module).TASK
