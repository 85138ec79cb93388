"""The Highway tasks: one file each. Their rows are in `envs/registry.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from policy_inertia.envs.highway.simulator.task import TrafficTask
from policy_inertia.envs.registry import env_id, highway_modules
from policy_inertia.errors import InputError, nearest, shown


class _Tasks(Mapping[str, TrafficTask]):
    """All Highway tasks of the registry by their names, each imported when it is first used."""

    def __getitem__(self, name: str) -> TrafficTask:
        return import_module(highway_modules()[name]).TASK

    def __iter__(self) -> Iterator[str]:
        return iter(highway_modules())

    def __len__(self) -> int:
        return len(highway_modules())


TASKS: Mapping[str, TrafficTask] = _Tasks()


def task_named(name: object) -> TrafficTask:
    """Return a task by its name, its Gymnasium id or highway-env's id."""
    for known, task in TASKS.items() if isinstance(name, str) else ():
        if name in (known, env_id(known), task.upstream and task.upstream.id):
            return task
    raise InputError(f"there is no Highway task {shown(name)}{nearest(name, TASKS)}")
