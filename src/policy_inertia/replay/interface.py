"""What a replay buffer is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array, Transition

Stored = np.ndarray | dict[str, np.ndarray]
"""A replay buffer's state: one array, or several by name."""


class Replay(Protocol):
    """A ring of transitions: the oldest is overwritten first."""

    width: int
    """How many 4-byte words a sampled transition has."""

    def __len__(self) -> int:
        """How many transitions can be drawn."""

    @property
    def added(self) -> int:
        """How many transitions were ever added, including those that are gone."""

    def add(self, batch: Transition, envs: np.ndarray | None = None) -> None:
        """Store a batch of transitions; `envs` is the number of the env of each."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...], out: np.ndarray) -> None:
        """Draw transitions uniformly, with replacement, as words into `out`, `(*shape, width)`."""

    def unpack(self, words: Array) -> Transition:
        """Read sampled words as transitions again, in compiled code."""

    def state(self) -> Stored:
        """What is stored, without the part that was never written."""

    def restore(self, state: Stored, added: int, where: str = "the checkpoint") -> None:
        """Return to a saved `state`; `where` names its file in error messages."""


def foreign_state(where: str) -> InputError:
    """The error for a replay state that does not fit."""
    return InputError(
        f"{where} holds a replay buffer that is damaged or has other observations: use this run's "
        "own, or start it again with another --out"
    )
