"""A batch of scenes and the two compiled calls on it: begin the masked ones, step all."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba.core import event

from policy_inertia.envs.highway.config import Config, TaskSpec, tables
from policy_inertia.envs.highway.simulator import generator, jit, starts
from policy_inertia.envs.highway.simulator import rewards as tasks
from policy_inertia.envs.highway.simulator.observation import observe
from policy_inertia.envs.highway.simulator.records import OUTCOME, scene_dtype
from policy_inertia.envs.highway.simulator.vehicles import settle


def _entry_points(sources: str) -> tuple[Any, Any]:
    # as a closure's variable `sources` is in the cache's key: code compiled from other sources,
    # in this file or in those it calls, is not found in the cache
    @jit.entry_point
    def begin_batch(
        scenes: np.ndarray,
        lanes: np.ndarray,
        roads: np.ndarray,
        task: np.ndarray,
        spawns: np.ndarray,
        mask: np.ndarray,
        seen: np.ndarray,
        outcomes: np.ndarray,
    ) -> None:
        _ = sources
        for k in range(len(scenes)):
            if mask[k]:
                scene, outcome = scenes[k], outcomes[k]
                starts.begin(scene, lanes, roads, task[0], spawns)
                observe(scene, lanes, roads, task[0], seen[k])
                tasks.report(scene, lanes, task[0], outcome)
                outcome.reward = 0.0
                outcome.terminated = outcome.truncated = False

    @jit.entry_point
    def step_batch(
        scenes: np.ndarray,
        lanes: np.ndarray,
        roads: np.ndarray,
        task: np.ndarray,
        actions: np.ndarray,
        moving: bool,
        seen: np.ndarray,
        outcomes: np.ndarray,
    ) -> None:
        _ = sources
        for k in range(len(scenes)):
            scene = scenes[k]
            if moving:
                tasks.step(scene, lanes, roads, task[0], actions[k], outcomes[k])
            else:  # that was done elsewhere
                settle(scene, lanes)
                tasks.judge(scene, lanes, roads, task[0], actions[k], outcomes[k])
            observe(scene, lanes, roads, task[0], seen[k])
            if moving:
                starts.turn_over(scene, lanes, task[0])

    return begin_batch, step_batch


_begin_batch, _step_batch = _entry_points(jit.SOURCES)


class _Announcement(event.Listener):
    """Says so when nothing was in the cache, since compiling takes longer than one expects."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said and event.data["dispatcher"] in (_begin_batch, _step_batch):
            self.said = True
            print("compiling the Highway simulator: about half a minute, once", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())


class Simulation:
    """`n` independent scenes of one task. Nothing is checked here, and no end stops a scene."""

    def __init__(self, spec: TaskSpec, config: Config, n: int, entries: int = 0) -> None:
        self.spec, self.config, self.n = spec, config, n
        self.tables = tables(spec, config, entries)
        self.scenes = np.zeros(n, scene_dtype(self.tables.capacity))
        observation = config["observation"]
        shape = (n, int(observation["vehicles_count"]), len(observation["features"]))
        self.seen = np.zeros(shape, np.float32)
        self.outcomes = np.zeros(n, OUTCOME)
        self._seeded = np.zeros(n, bool)

    @property
    def actions_count(self) -> int:
        return int(self.tables.task["actions_count"][0])

    def begin(self, mask: np.ndarray, seeds: list[int | None]) -> None:
        """Begin an episode where `mask` is set; without a seed a scene's generator goes on."""
        for k in np.flatnonzero(mask).tolist():
            if seeds[k] is not None or not self._seeded[k]:
                self.scenes["rng"][k] = generator.seeded(seeds[k])
                self._seeded[k] = True
        network, task, spawns, _ = self.tables
        _begin_batch(
            self.scenes, network.lanes, network.roads, task, spawns, mask, self.seen, self.outcomes
        )

    def step(self, actions: np.ndarray) -> None:
        """One decision in every scene; `seen` and `outcomes` are overwritten."""
        self._take(actions, True)

    def adopt(self, actions: np.ndarray) -> None:
        """Take the scenes as they were written from outside, after `actions` were taken there.

        Fills in what lanes make of the positions, `seen` and `outcomes`; nothing moves.
        """
        self._take(actions, False)
        self._seeded[:] = True

    def _take(self, actions: np.ndarray, moving: bool) -> None:
        network, task, _, _ = self.tables
        tables = network.lanes, network.roads, task
        _step_batch(self.scenes, *tables, actions, moving, self.seen, self.outcomes)
