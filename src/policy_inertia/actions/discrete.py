"""A finite list of actions, counted from 0 inside the library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.space import refuse_not_finite
from policy_inertia.errors import InputError
from policy_inertia.types import Array

MOST_ACTIONS = 2**31
"""Actions are stored as 32-bit numbers."""

LARGEST_WHOLE = 2**53
"""From here on, 64-bit floats leave out whole numbers."""

SMALL_RANGE = 2**16
"""Logged actions that differ by less are counted instead of sorted."""

NULL = -1
"""The null action: there is no previous action at the start of an episode."""


@dataclass(frozen=True)
class Discrete:
    """`n` actions. Inside the library they are counted from 0; the env counts from `first`."""

    n: int
    first: int = 0

    kind: ClassVar[str] = "discrete"
    finite: ClassVar[bool] = True
    shape: ClassVar[tuple[int, ...]] = ()
    dtype: ClassVar[np.dtype] = np.dtype(np.int32)

    def __post_init__(self) -> None:
        if not 1 <= self.n < MOST_ACTIONS or not -MOST_ACTIONS < self.first < MOST_ACTIONS:
            raise InputError(
                f"{self.n} actions from {self.first} on: a Discrete space has 1 to {MOST_ACTIONS} "
                "actions, and their numbers are of that size"
            )

    @classmethod
    def from_gym(cls, space: gym.Space[Any]) -> Discrete | None:
        """The same space as Gymnasium describes it; None for another kind of space."""
        if not isinstance(space, gym.spaces.Discrete):
            return None
        return cls(int(space.n), int(space.start))

    @classmethod
    def from_values(cls, values: np.ndarray) -> tuple[Discrete, np.ndarray, tuple[str, ...]] | None:
        """A space for logged actions, the actions counted from 0, and their names.

        Args:
            values: At least one; finite numbers, or texts.

        Returns:
            None if the values are no finite list of actions.
        """
        if values.ndim > 1 or (values.dtype.kind != "U" and not whole_numbers(values).all()):
            return None
        different, actions = _numbered(values)
        return cls(len(different)), actions.astype(cls.dtype), tuple(map(str, different.tolist()))

    @property
    def width(self) -> int:
        return self.n

    @property
    def parts(self) -> tuple[slice, ...]:
        return (slice(0, self.n),)

    def distribution(self, log_pi: Array) -> Categorical:
        """The distribution with these log-probabilities, `(B, n)`."""
        return Categorical(log_pi)

    def null(self, n: int) -> np.ndarray:
        return np.full(n, NULL)

    def is_null(self, actions: Array) -> Array:
        return actions < 0

    def contains(self, actions: Array) -> Array:
        return (actions >= 0) & (actions < self.n)

    def equal(self, a: Array, b: Array) -> Array:
        return a == b

    def close(self, a: Array, b: Array) -> Array:
        return self.equal(a, b)

    def distance(self, a: Array, b: Array) -> Array:
        return (a != b).astype(np.float32)

    def cost(self, previous: Array, actions: Array) -> Array:
        """A switch takes one token."""
        return ((actions != previous) & (previous >= 0)) * np.int32(TOKEN)

    def encode(self, actions: Array, xp: Any = np) -> Array:
        """Rows of the identity, and a row of zeros for the null action."""
        return (actions[..., None] == xp.arange(self.n)).astype(np.float32)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.integers(0, self.n, n)

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        return actions + self.first

    def from_env(self, actions: Any) -> np.ndarray:
        return np.asarray(actions) - self.first

    def read(self, values: np.ndarray, n: int, name: str) -> np.ndarray:
        if values.size != n:
            raise InputError(
                f"{name} gave actions of shape {values.shape} for {n} observations: expected ({n},)"
            )
        refuse_not_finite(values, name)
        first, last = self.first, self.first + self.n - 1
        if (values < first).any() or (values > last).any():
            raise InputError(
                f"{name} gave an action from {values.min()} to {values.max()}: this env has "
                f"{first} to {last}, so the action spaces differ"
            )
        actions = values.reshape(n).astype(np.int64)
        if (actions != values.reshape(n)).any():
            raise InputError(
                f"{name} gave actions that are no whole numbers: expected {first} to {last}"
            )
        return self.from_env(actions)

    def to_vector_env(self, actions: np.ndarray) -> list[int]:
        return (actions + self.first).tolist()  # envs check Python's integers faster

    def with_repeats(self, repeats: tuple[int, ...]) -> Discrete:
        """The choices of a policy that also picks for how long to hold its action."""
        return self if repeats == (1,) else Discrete(self.n * len(repeats))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Which numbers are whole and so small that a 64-bit float tells them from their neighbours."""
    inside = (values > -LARGEST_WHOLE) & (values < LARGEST_WHOLE)
    return inside & (values == np.floor(values)) if values.dtype.kind == "f" else inside


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values in their order, and for each value its place among them."""
    if values.dtype.kind == "U":
        return np.unique(values, return_inverse=True)
    low = int(values.min())
    if int(values.max()) - low >= SMALL_RANGE:
        different, actions = np.unique(values, return_inverse=True)
        return different.astype(np.int64), actions
    offsets = values.astype(np.int64) - low  # without sorting, for long logs
    present = np.bincount(offsets) > 0
    return np.flatnonzero(present) + low, (np.cumsum(present, dtype=np.int32) - 1)[offsets]


class Categorical(NamedTuple):
    """A distribution over a finite list of actions, as log-probabilities (B, A)."""

    log_pi: Array

    def mode(self) -> np.ndarray:
        return np.asarray(self.log_pi.argmax(1))

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One action for each row; an action of probability 0 is never drawn."""
        cumulative = np.exp(self.log_pi).cumsum(axis=1)
        u = rng.random(len(self.log_pi)) * cumulative[:, -1]
        return (cumulative <= u[:, None]).sum(axis=1)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        return np.exp(self.log_pi[np.arange(len(actions)), actions])


def split_choice(choice: np.ndarray, repeats: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A choice from actions x repeats as (action, number of steps to hold it).

    With a single number there is nothing to choose: any kind of action is its own choice.
    """
    if len(repeats) == 1:
        return choice, np.full(len(choice), repeats[0])
    return choice // len(repeats), np.asarray(repeats)[choice % len(repeats)]
