"""The replay buffer of TempoRL: a ring of single steps, and a ring of skips."""

from __future__ import annotations

import numpy as np

from policy_inertia.actions.space import ActionSpace
from policy_inertia.replay.interface import Stored, foreign_state
from policy_inertia.replay.transitions import TransitionReplay
from policy_inertia.types import Array, Transition


class SkipReplay:
    """Two rings of `capacity` transitions each; see `interface.Replay`.

    All transitions are skips: choices of an action and a number of steps. Those of one step are
    stored in the ring of single steps too. Sizes and counts are those of that ring, so a learner
    is updated as often as one that has no skips.

    A minibatch of B has 2 B transitions: first B single steps, then B skips.
    """

    def __init__(
        self, capacity: int, obs_dim: int, actions: ActionSpace, repeats: tuple[int, ...]
    ) -> None:
        self.steps = TransitionReplay(capacity, obs_dim, actions)
        self.skips = TransitionReplay(capacity, obs_dim, actions)
        self.width = 2 * self.steps.width
        self._lengths, self._one = len(repeats), repeats.index(1)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def added(self) -> int:
        """How many single steps were ever added."""
        return self.steps.added

    def add(self, batch: Transition, envs: np.ndarray | None = None) -> None:
        """Store a batch of at most `capacity` skips; `envs` is not needed here."""
        single = batch.action % self._lengths == self._one
        self.steps.add(Transition(*(values[single] for values in batch)))
        self.skips.add(batch)

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...], out: np.ndarray) -> None:
        """Draw from both rings uniformly, with replacement, as words into `out`."""
        *lead, n = shape
        halves = out.reshape(*lead, 2, n, self.steps.width)
        for half, ring in enumerate((self.steps, self.skips)):
            index = rng.integers(0, len(ring), shape)
            halves[..., half, :, :] = ring.words[index]

    def unpack(self, words: Array) -> Transition:
        """Read sampled words (..., B, width) as 2 B transitions, in compiled code."""
        return self.steps.unpack(words.reshape(*words.shape[:-2], -1, self.steps.width))

    def state(self) -> dict[str, np.ndarray]:
        """What is stored, without the part that was never written."""
        counts = np.array([self.steps.added, self.skips.added])
        return {"steps": self.steps.state(), "skips": self.skips.state(), "counts": counts}

    def restore(self, state: Stored, added: int, where: str = "the checkpoint") -> None:
        """Return to a saved `state`; `where` names its file in error messages."""
        if not isinstance(state, dict) or set(state) != set(self.state()):
            raise foreign_state(where)
        counts = state["counts"]
        if counts.dtype.kind != "i" or counts.shape != (2,) or counts[0] != added:
            raise foreign_state(where)
        if counts[1] < added:
            raise foreign_state(where)
        self.steps.restore(state["steps"], added, where)
        self.skips.restore(state["skips"], int(counts[1]), where)
