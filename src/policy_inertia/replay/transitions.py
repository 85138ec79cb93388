"""The replay buffer of vector observations: a ring of transitions in one NumPy array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.actions.space import ActionSpace
from policy_inertia.replay.interface import Stored, foreign_state
from policy_inertia.types import Array, Transition


def record_dtype(obs_dim: int, actions: ActionSpace) -> np.dtype:
    """One transition as one record of 4-byte words, so that one gather fetches all its fields."""
    obs = (np.float32, (obs_dim,))
    action = (actions.dtype, actions.shape)
    return np.dtype(
        [
            ("obs", *obs),
            ("prev_action", *action),
            ("action", *action),
            ("reward", np.float32),
            ("discount", np.float32),
            ("next_obs", *obs),
        ]
    )


class TransitionReplay:
    """A ring of `capacity` transitions; see `interface.Replay`."""

    def __init__(
        self, capacity: int, obs_dim: int, actions: ActionSpace, dtype: np.dtype | None = None
    ) -> None:
        self.capacity, self.obs_dim, self.actions = capacity, obs_dim, actions
        self.records = np.zeros(capacity, dtype or record_dtype(obs_dim, actions))
        self.words = self.records.view(np.int32).reshape(capacity, -1)
        self.width = self.words.shape[1]
        self.added = 0  # the write position is added % capacity

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, batch: Transition, envs: np.ndarray | None = None) -> None:
        """Store a batch of at most `capacity` transitions; `envs` is not needed here."""
        n = len(batch.action)
        start = self.added % self.capacity
        if start + n <= self.capacity:  # a slice is written far faster than an index array
            rows: Any = slice(start, start + n)
        else:
            rows = np.arange(start, start + n) % self.capacity
        for name in self.records.dtype.names or ():
            self.records[name][rows] = getattr(batch, name)
        self.added += n

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...], out: np.ndarray) -> None:
        """Draw transitions uniformly, with replacement, as words into `out`."""
        index = rng.integers(0, len(self), shape)
        np.take(self.words, index, axis=0, out=out, mode="clip")

    def unpack(self, words: Array) -> Transition:
        """Read sampled words as transitions again, in compiled code."""
        d, shape = self.obs_dim, self.actions.shape
        k = math.prod(shape)
        prev_action, action = words[..., d : d + k], words[..., d + k : d + 2 * k]
        return Transition(
            obs=floats(words[..., :d]),
            prev_action=unpack_actions(prev_action, self.actions),
            action=unpack_actions(action, self.actions),
            reward=floats(words[..., d + 2 * k]),
            discount=floats(words[..., d + 2 * k + 1]),
            next_obs=floats(words[..., d + 2 * k + 2 : 2 * d + 2 * k + 2]),
        )

    def state(self) -> np.ndarray:
        """What is stored, without the part that was never written."""
        return self.records[: len(self)]

    def restore(self, state: Stored, added: int, where: str = "the checkpoint") -> None:
        """Return to a saved `state`; `where` names its file in error messages."""
        expected = (self.records.dtype, (min(added, self.capacity),))
        if isinstance(state, dict) or (state.dtype, state.shape) != expected:
            raise foreign_state(where)
        self.records[: len(state)] = state
        self.added = added


def floats(words: Array) -> Array:
    """Read words as numbers."""
    return lax.bitcast_convert_type(words, jnp.float32)


def unpack_actions(words: Array, actions: ActionSpace) -> Array:
    """Read words (..., k) as actions (..., *shape)."""
    values = words if actions.dtype.kind == "i" else floats(words)
    return values.reshape(*words.shape[:-1], *actions.shape)
