"""Several finite lists of actions at once, the heads: MultiDiscrete and MultiBinary."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.discrete import MOST_ACTIONS, NULL, Categorical
from policy_inertia.actions.space import refuse_not_finite
from policy_inertia.errors import InputError
from policy_inertia.types import Array

MOST_HEADS = 1_000


@dataclass(frozen=True)
class MultiDiscrete:
    """Actions of several heads. Each head takes one of its own actions, counted from 0.

    Inside the library an action is a row with one number for each head. What is said about every
    action of every head, such as scores, is one row of `width` numbers, head by head.

    Attributes:
        sizes: How many actions each head has.
        firsts: The number from which the env counts the actions of each head.
        binary: Whether the env has a MultiBinary space: each head is off (0) or on (1).
    """

    sizes: tuple[int, ...]
    firsts: tuple[int, ...]
    binary: bool = False

    kind: ClassVar[str] = "multi_discrete"
    finite: ClassVar[bool] = True
    dtype: ClassVar[np.dtype] = np.dtype(np.int32)

    def __post_init__(self) -> None:
        fits = len(self.sizes) == len(self.firsts)
        if not 1 <= len(self.sizes) <= MOST_HEADS or min(self.sizes, default=0) < 1 or not fits:
            raise InputError(
                f"{len(self.sizes)} heads of {list(self.sizes)[:8]} actions: expected 1 to "
                f"{MOST_HEADS:,} heads, each with an action and a first number"
            )
        numbers = (*self.sizes, *map(abs, self.firsts))
        if sum(self.sizes) >= MOST_ACTIONS or max(numbers) >= MOST_ACTIONS:
            raise InputError(f"{sum(self.sizes)} actions of all heads: they must be below 2**31")

    @classmethod
    def from_gym(cls, space: gym.Space[Any]) -> MultiDiscrete | None:
        """The same space as Gymnasium describes it; None for another kind of space.

        Raises:
            InputError: Its actions have several axes.
        """
        if not isinstance(space, gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
            return None
        if len(space.shape) != 1:
            raise InputError("its actions have several axes: give it one axis of heads")
        if isinstance(space, gym.spaces.MultiBinary):
            return cls((2,) * space.shape[0], (0,) * space.shape[0], True)
        return cls(tuple(map(int, space.nvec)), tuple(map(int, space.start)))

    @classmethod
    def from_values(cls, values: np.ndarray) -> None:
        """Logged actions are read as one list of actions or as numbers, never as heads."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.sizes),)

    @property
    def width(self) -> int:
        return sum(self.sizes)

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """The place of each head in a row of `width` numbers."""
        ends = list(accumulate(self.sizes))
        return tuple(slice(end - n, end) for end, n in zip(ends, self.sizes, strict=True))

    @cached_property
    def offsets(self) -> np.ndarray:
        """The place of each head's first action in a row of `width` numbers."""
        return np.array([part.start for part in self.parts])

    def null(self, n: int) -> np.ndarray:
        return np.full((n, len(self.sizes)), NULL)

    def is_null(self, actions: Array) -> Array:
        return actions[..., 0] < 0

    def contains(self, actions: Array) -> Array:
        inside: Any = (actions >= 0) & (actions < np.array(self.sizes))
        return inside.all(-1)

    def equal(self, a: Array, b: Array) -> Array:
        return (a == b).all(-1)

    def close(self, a: Array, b: Array) -> Array:
        return self.equal(a, b)

    def distance(self, a: Array, b: Array) -> Array:
        """The share of the heads that differ."""
        return (a != b).mean(-1).astype(np.float32)

    def cost(self, previous: Array, actions: Array) -> Array:
        """A step in which a head switches takes one token, however many heads do."""
        switched = (actions != previous).any(-1) & ~self.is_null(previous)
        return switched * np.int32(TOKEN)

    def encode(self, actions: Array, xp: Any = np) -> Array:
        """A row of the identity for each head, one behind the other; zeros for the null action."""
        hot = [actions[..., i, None] == xp.arange(n) for i, n in enumerate(self.sizes)]
        return xp.concatenate(hot, axis=-1).astype(np.float32)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.integers(0, self.sizes, (n, len(self.sizes)))

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        values = actions + np.array(self.firsts)
        return values.astype(np.int8) if self.binary else values

    def from_env(self, actions: Any) -> np.ndarray:
        return np.asarray(actions).astype(np.int64) - np.array(self.firsts)

    def read(self, values: np.ndarray, n: int, name: str) -> np.ndarray:
        h = len(self.sizes)
        if values.shape != (n, h):
            raise InputError(
                f"{name} gave actions of shape {values.shape} for {n} observations: expected "
                f"({n}, {h}), one number for each head"
            )
        refuse_not_finite(values, name)
        actions = self.from_env(values)
        if (actions + np.array(self.firsts) != values).any() or not self.contains(actions).all():
            raise InputError(
                f"{name} gave actions from {values.min()} to {values.max()}: this env has "
                f"{self}, so the action spaces differ"
            )
        return actions

    def to_vector_env(self, actions: np.ndarray) -> np.ndarray:
        return self.to_env(actions)

    def distribution(self, log_pi: Array) -> Heads:
        """The distribution with these log-probabilities of each head's actions, `(B, width)`."""
        return Heads(log_pi, self)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def __str__(self) -> str:
        if self.binary:
            return f"MultiBinary of {len(self.sizes)} heads"
        return f"MultiDiscrete of {math.prod(self.shape)} heads with {list(self.sizes)[:8]} actions"


class Heads(NamedTuple):
    """Independent distributions of the heads, as log-probabilities (B, width)."""

    log_pi: Array
    actions: MultiDiscrete

    def _each(self) -> list[Categorical]:
        return [Categorical(self.log_pi[..., part]) for part in self.actions.parts]

    def mode(self) -> np.ndarray:
        return np.stack([head.mode() for head in self._each()], -1)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        return np.stack([head.sample(rng) for head in self._each()], -1)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        each = [head.probability(actions[:, i]) for i, head in enumerate(self._each())]
        return np.prod(each, axis=0)
