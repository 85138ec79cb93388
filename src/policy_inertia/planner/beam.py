"""Beam search for the best episode with a given number of switches.

The search copies scenes, so it knows what every vehicle will do: it is clairvoyant. There is one
beam for each number of switches, because prices on switches find only the convex hull. A beam keeps
the scenes with the largest returns so far. It may drop the beginning of the best episode, so what
it finds is an estimate from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy_inertia.envs.highway.simulator.scene_store import SceneStore
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import Episode

NOTHING = -1  # the action before the first one
MOST_STEPS = 1_000  # of one episode


def better(a: Episode | None, b: Episode | None) -> Episode | None:
    """Return the better of two episodes: without a crash, then with the larger return."""
    if a is None or b is None:
        return a or b
    return b if (not b.crashed, b.return_) > (not a.crashed, a.return_) else a


@dataclass
class _Beam:
    """The running episodes with one number of switches; all arrays have one row for each."""

    places: np.ndarray  # in the store of scenes
    returns: np.ndarray
    previous: np.ndarray  # the last action
    nodes: np.ndarray  # in the tree of actions

    def __len__(self) -> int:
        return len(self.places)


class _Tree:
    """The actions of all episodes: each node has an action and the node before it."""

    def __init__(self) -> None:
        self.parents: list[np.ndarray] = []
        self.actions: list[np.ndarray] = []
        self.size = 0

    def add(self, parents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Add a node for each action, and return the nodes."""
        self.parents.append(parents)
        self.actions.append(actions)
        self.size += len(actions)
        return np.arange(self.size - len(actions), self.size)

    def path(self, node: int) -> np.ndarray:
        """Return the actions from the first one to this node."""
        path: list[int] = []
        if node == NOTHING:
            return np.array(path, np.int64)
        parents, actions = np.concatenate(self.parents), np.concatenate(self.actions)
        while node != NOTHING:
            path.append(actions[node])
            node = int(parents[node])
        return np.array(path[::-1])


class BeamSearch:
    """The search from one start; `run` returns the best episodes."""

    def __init__(self, simulation: Simulation, seed: int, switches: int, width: int) -> None:
        """Begin the episode.

        Args:
            simulation: scenes of a task; the search uses all of them to step many at a time.
            seed: the seed of the episode.
            switches: the beams are for 0, 1, ..., `switches` switches; the last one also takes
                episodes with more.
            width: how many running episodes a beam keeps.
        """
        self.simulation, self.width, self.last = simulation, width, switches
        self.actions_count = simulation.actions_count
        simulation.begin(np.ones(simulation.n, bool), [seed] * simulation.n)
        first = simulation.scenes[:1]
        entries = int((first["vehicles"] + first["obstacles"])[0])
        self.store = SceneStore((switches + 1) * width, entries)
        self.children = SceneStore((2 * self.actions_count - 1) * width, entries)
        self.tree = _Tree()
        self.best: list[Episode | None] = [None] * (switches + 1)
        self.store.put(np.zeros(1, int), first)
        start = np.zeros(1, int)
        self.beams = [_Beam(start, np.zeros(1), start + NOTHING, start + NOTHING)]
        self.beams += [_Beam(*(np.zeros(0, x.dtype) for x in vars(self.beams[0]).values()))
                       for _ in range(switches)]  # fmt: skip

    def run(self) -> list[Episode | None]:
        """Return the best episode for each number of switches; None if there is none."""
        for _ in range(MOST_STEPS):
            for k in range(self.last, -1, -1):  # a beam's next scenes need the beam below as it is
                self.beams[k] = self._next_beam(k)
            if not any(map(len, self.beams)):
                return self.best
        raise InputError(
            f"an episode has not ended after {MOST_STEPS:,} steps: give the task a duration, such "
            "as --env-kwargs config.duration=25"
        )

    def _next_beam(self, k: int) -> _Beam:
        """Return the running episodes with `k` switches after one more step."""
        parents = [self._choices(k, stay=True), self._choices(k - 1, stay=False)]
        if k == self.last:
            parents.append(self._choices(k, stay=False))
        places, returns, nodes, actions = map(np.concatenate, zip(*parents, strict=True))
        outcomes = self._step(places, actions)
        returns = returns + outcomes["reward"]
        ended = outcomes["terminated"] | outcomes["truncated"]
        self._finish(k, ended, returns, nodes, actions, outcomes)
        running = np.flatnonzero(~ended)
        chosen = running[self._choose(running, returns[running], actions[running])]
        own = k * self.width + np.arange(len(chosen))
        self.store.put(own, self.children.scenes[chosen])
        kept_nodes = self.tree.add(nodes[chosen], actions[chosen])
        return _Beam(own, returns[chosen], actions[chosen], kept_nodes)

    def _choices(self, k: int, stay: bool) -> tuple[np.ndarray, ...]:
        """Return places, returns, nodes and actions of steps from beam `k` that (do not) switch."""
        beam = self.beams[max(k, 0)]
        actions = np.arange(self.actions_count)
        switch = (actions != beam.previous[:, None]) & (beam.previous[:, None] != NOTHING)
        rows, chosen = np.nonzero(switch != stay if k >= 0 else np.zeros_like(switch))
        return beam.places[rows], beam.returns[rows], beam.nodes[rows], chosen

    def _step(self, places: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Take the actions in copies of the scenes; `children` has the scenes, return outcomes."""
        simulation = self.simulation
        outcomes = np.zeros(len(actions), simulation.outcomes.dtype)
        taken = np.zeros(simulation.n, np.int64)
        for start in range(0, len(actions), simulation.n):
            part = np.arange(start, min(start + simulation.n, len(actions)))
            self.store.take(places[part], simulation.scenes)
            taken[: len(part)] = actions[part]
            simulation.step(taken)
            outcomes[part] = simulation.outcomes[: len(part)]
            self.children.put(part, simulation.scenes[: len(part)])
        return outcomes

    def _finish(
        self,
        k: int,
        ended: np.ndarray,
        returns: np.ndarray,
        nodes: np.ndarray,
        actions: np.ndarray,
        outcomes: np.ndarray,
    ) -> None:
        """Note the best of the episodes that ended, once without and once with a crash."""
        for crashed in (False, True):
            rows = np.flatnonzero(ended & (outcomes["crashed"] == crashed))
            if len(rows):
                i = rows[np.argmax(returns[rows])]
                path = np.append(self.tree.path(int(nodes[i])), actions[i])
                terminated = bool(outcomes["terminated"][i])
                episode = Episode(float(returns[i]), path, terminated, crashed)
                self.best[k] = better(self.best[k], episode)

    def _choose(self, rows: np.ndarray, returns: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return which of the running episodes to keep: the best, each scene and action once.

        Where returns are equal, the digests of the scenes decide. So the choice is the same in
        every run, and does not prefer the descendants of one episode.
        """
        digests = self.children.digests(rows) + actions.astype(np.uint64)
        order = np.lexsort((digests, -returns))
        _, first = np.unique(digests[order], return_index=True)
        return order[np.sort(first)[: self.width]]
