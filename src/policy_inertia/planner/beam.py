"""Beam search for the best episode with a given number of switches.

The search copies scenes, so it knows what every vehicle will do: it is clairvoyant. There is one
beam for each number of switches, because prices on switches find only the convex hull. A beam keeps
the scenes with the largest returns so far. It may drop the beginning of the best episode, so what
it finds is an estimate from below.

Within a limit on switching, an episode without a token does not branch. A beam then keeps as many
episodes for each whole number of tokens that are left, so those that have spent their tokens do not
crowd out those that saved them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN, Limit
from policy_inertia.envs.highway.simulator.scene_store import SceneStore
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import Episode

NOTHING = -1  # the action before the first one
MOST_STEPS = 1_000  # of one episode
UNLIMITED = Limit(1.0)
ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads tokens over the digests of scenes


def better(a: Episode | None, b: Episode | None) -> Episode | None:
    """Return the better of two episodes: without a crash, then with the larger return."""
    if a is None or b is None:
        return a or b
    return b if (not b.crashed, b.return_) > (not a.crashed, a.return_) else a


def token_levels(limit: Limit | None, switches: int) -> int:
    """Return for how many whole numbers of tokens a beam keeps episodes.

    Those with `switches` tokens and more are counted as one.
    """
    return 1 if limit is None else min(limit.burst_units // TOKEN, switches) + 1


@dataclass
class _Beam:
    """The running episodes with one number of switches; all arrays have one row for each."""

    places: np.ndarray  # in the store of scenes
    returns: np.ndarray
    previous: np.ndarray  # the last action
    nodes: np.ndarray  # in the tree of actions
    tokens: np.ndarray  # that are left, in millionths

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

    def __init__(
        self,
        simulation: Simulation,
        seed: int,
        switches: int,
        width: int,
        limit: Limit | None = None,
    ) -> None:
        """Begin the episode.

        Args:
            simulation: scenes of a task; the search uses all of them to step many at a time.
            seed: the seed of the episode.
            switches: the beams are for 0, 1, ..., `switches` switches; the last one also takes
                episodes with more.
            width: how many running episodes a beam keeps, for each whole number of tokens.
            limit: a limit on switching that every episode keeps; None means no limit.
        """
        self.simulation, self.width, self.last = simulation, width, switches
        self.limit, self.levels = limit or UNLIMITED, token_levels(limit, switches)
        self.room = width * self.levels  # how many running episodes a beam can have
        self.actions_count = simulation.actions_count
        simulation.begin(np.ones(simulation.n, bool), [seed] * simulation.n)
        first = simulation.scenes[:1]
        entries = int((first["vehicles"] + first["obstacles"])[0])
        self.store = SceneStore((switches + 1) * self.room, entries)
        self.children = SceneStore((2 * self.actions_count - 1) * self.room, entries)
        self.tree = _Tree()
        self.best: list[Episode | None] = [None] * (switches + 1)
        self.store.put(np.zeros(1, int), first)
        start = np.zeros(1, int)
        full = start + self.limit.burst_units
        self.beams = [_Beam(start, np.zeros(1), start + NOTHING, start + NOTHING, full)]
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
        places, returns, nodes, tokens, actions = map(np.concatenate, zip(*parents, strict=True))
        outcomes = self._step(places, actions)
        returns = returns + outcomes["reward"]
        ended = outcomes["terminated"] | outcomes["truncated"]
        self._finish(k, ended, returns, nodes, actions, outcomes)
        running = np.flatnonzero(~ended)
        chosen = running[self._choose(running, returns[running], actions[running], tokens[running])]
        own = k * self.room + np.arange(len(chosen))
        self.store.put(own, self.children.scenes[chosen])
        kept_nodes = self.tree.add(nodes[chosen], actions[chosen])
        return _Beam(own, returns[chosen], actions[chosen], kept_nodes, tokens[chosen])

    def _choices(self, k: int, stay: bool) -> tuple[np.ndarray, ...]:
        """Return the steps from beam `k` that (do not) switch.

        Returns:
            Places, returns and nodes before the step, tokens after it, and the actions.
        """
        beam = self.beams[max(k, 0)]
        actions = np.arange(self.actions_count)
        switch = (actions != beam.previous[:, None]) & (beam.previous[:, None] != NOTHING)
        possible = switch != stay if k >= 0 else np.zeros_like(switch)
        cost = 0 if stay else TOKEN
        rows, chosen = np.nonzero(possible & (beam.tokens[:, None] >= cost))
        rate, burst = self.limit.rate_units, self.limit.burst_units
        left = bucket.after(beam.tokens[rows], cost, rate, burst, np.minimum)
        return beam.places[rows], beam.returns[rows], beam.nodes[rows], left, chosen

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

    def _choose(
        self, rows: np.ndarray, returns: np.ndarray, actions: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Return which running episodes to keep: the best, each scene, action and tokens once.

        Where returns are equal, the digests of the scenes decide. So the choice is the same in
        every run, and does not prefer the descendants of one episode.
        """
        most = min(self.limit.burst_units, self.last * TOKEN)  # more than `last` need not differ
        useful = np.minimum(tokens, most)
        digests = self.children.digests(rows) + actions.astype(np.uint64)
        digests += (most - useful).astype(np.uint64) * ODD
        order = np.lexsort((digests, -returns))
        _, first = np.unique(digests[order], return_index=True)
        ranked = order[np.sort(first)]
        levels = np.minimum(useful[ranked] // TOKEN, self.levels - 1)
        return np.concatenate(
            [ranked[levels == level][: self.width] for level in range(self.levels)]
        )
