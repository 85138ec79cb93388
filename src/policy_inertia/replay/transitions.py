"""The replay buffer: a ring of transitions in one NumPy array. It knows nothing of algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array, Transition

Stored = np.ndarray | dict[str, np.ndarray]  # a replay's state: one array, or several by name


def record_dtype(obs_dim: int) -> np.dtype:
    """One transition as one record of 4-byte words, so that one gather fetches all its fields."""
    obs = (np.float32, (obs_dim,))
    return np.dtype(
        [
            ("obs", *obs),
            ("prev_action", np.int32),
            ("action", np.int32),
            ("reward", np.float32),
            ("discount", np.float32),
            ("next_obs", *obs),
        ]
    )


class Replay:
    """A ring of `capacity` transitions: the oldest is overwritten first."""

    def __init__(self, capacity: int, obs_dim: int) -> None:
        self.capacity = capacity
        self.records = np.zeros(capacity, record_dtype(obs_dim))
        self.words = self.records.view(np.int32).reshape(capacity, -1)
        self.width = self.words.shape[1]  # of a sampled row
        self.added = 0  # ever, so that the write position is added % capacity

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, batch: Transition, who: np.ndarray | None = None) -> None:
        """Store a batch of transitions (a leading axis of any length up to the capacity).

        Of which env each of them is (`who`) matters to a replay of frames only.
        """
        n = len(batch.action)
        start = self.added % self.capacity
        if start + n <= self.capacity:  # a slice is written far faster than an index array
            where: Any = slice(start, start + n)
        else:
            where = np.arange(start, start + n) % self.capacity
        for name, values in zip(Transition._fields, batch, strict=True):
            self.records[name][where] = values
        self.added += n

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...], out: np.ndarray) -> None:
        """Draw transitions uniformly, with replacement, into `out` of shape `(*shape, words)`."""
        index = rng.integers(0, len(self), shape)
        np.take(self.words, index, axis=0, out=out, mode="clip")

    def state(self) -> np.ndarray:
        """What is stored, without the part that was never written."""
        return self.records[: len(self)]

    def restore(self, records: Stored, added: int, where: str = "the checkpoint") -> None:
        """Come back to a `state`, of which `where` is the name in what is said of a wrong one."""
        if (
            isinstance(records, dict)
            or records.dtype != self.records.dtype
            or len(records) != min(added, self.capacity)
        ):
            raise foreign(where)
        self.records[: len(records)] = records
        self.added = added


def foreign(where: str) -> InputError:
    return InputError(
        f"{where} holds a replay that is damaged or of other observations: use this run's own, or "
        "start it again with another --out"
    )


def unpack(words: Array, obs_dim: int) -> Transition:
    """Read sampled words as transitions again, in compiled code (floats by their bits)."""
    from jax import lax
    from jax import numpy as jnp

    def floats(a: Array) -> Array:
        return lax.bitcast_convert_type(a, jnp.float32)

    d = obs_dim
    return Transition(
        obs=floats(words[..., :d]),
        prev_action=words[..., d],
        action=words[..., d + 1],
        reward=floats(words[..., d + 2]),
        discount=floats(words[..., d + 3]),
        next_obs=floats(words[..., d + 4 :]),
    )
