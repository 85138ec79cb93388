"""A batch of independent scenes of one task."""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.simulator import generator
from policy_inertia.envs.highway.simulator.batch import entry_points
from policy_inertia.envs.highway.simulator.controls import controls, is_continuous
from policy_inertia.envs.highway.simulator.records import OUTCOME, scene_dtype
from policy_inertia.envs.highway.simulator.task import Config, TrafficTask
from policy_inertia.envs.highway.simulator.task_tables import tables


class Simulation:
    """`n` scenes of one task.

    It checks nothing, and an ended episode can be stepped on. `seen` has the observations and
    `outcomes` the rest of what a step returns; each call overwrites them.
    """

    def __init__(self, task: TrafficTask, config: Config, n: int, entries: int = 0) -> None:
        self.task, self.config, self.n = task, config, n
        self.tables = tables(task, config, entries)
        self.scenes = np.zeros(n, scene_dtype(self.tables.capacity))
        observation = config["observation"]
        shape = (n, int(observation["vehicles_count"]), len(observation["features"]))
        self.seen = np.zeros(shape, np.float32)
        self.outcomes = np.zeros(n, OUTCOME)
        self._seeded = np.zeros(n, bool)
        self.continuous = is_continuous(config["action"])
        self._no_actions = np.zeros(n, np.int64)

    @property
    def actions_count(self) -> int:
        """The number of discrete actions; 0 if they are continuous."""
        return int(self.tables.settings["actions_count"][0])

    def begin(self, mask: np.ndarray, seeds: list[int | None]) -> None:
        """Begin an episode where `mask` is set; without a seed the scene's generator continues."""
        for k in np.flatnonzero(mask).tolist():
            if seeds[k] is not None or not self._seeded[k]:
                self.scenes["rng"][k] = generator.from_seed(seeds[k])
                self._seeded[k] = True
        network, settings, _ = self.tables
        begin_batch, _ = entry_points(self.task)
        begin_batch(
            self.scenes, network.lanes, network.roads, settings, mask, self.seen, self.outcomes
        )

    def step(self, actions: np.ndarray) -> None:
        """Take one action in every scene: a number each, or (n, numbers) if they are continuous."""
        if self.continuous:
            egos = np.arange(self.n), self.scenes["ego"]
            acceleration, steering = controls(self.config["action"], actions)
            self.scenes["acceleration"][egos] = acceleration
            self.scenes["steering"][egos] = steering
        self._step(actions, moving=True)

    def adopt(self, actions: np.ndarray) -> None:
        """Evaluate scenes that were written from outside, where `actions` were taken before.

        Computes the vehicles' coordinates on the lanes, `seen` and `outcomes`; nothing moves.
        """
        self._step(actions, moving=False)
        self._seeded[:] = True

    def _step(self, actions: np.ndarray, moving: bool) -> None:
        if self.continuous:  # compiled code reads the controls from the scenes
            actions = self._no_actions
        network, settings, _ = self.tables
        _, step_batch = entry_points(self.task)
        step_batch(
            self.scenes,
            network.lanes,
            network.roads,
            settings,
            actions,
            moving,
            self.seen,
            self.outcomes,
        )
