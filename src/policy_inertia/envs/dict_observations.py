"""Dict observations as one vector: the entries one behind the other, in the env's own order.

Entries of Discrete and MultiDiscrete become one-hots, as in Gymnasium's `flatten` and in the
policies of Stable-Baselines3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.errors import InputError, shown


@dataclass(frozen=True)
class Entry:
    """One entry of a Dict observation.

    Attributes:
        name: Its key.
        shape: The shape of its values.
        choices: For Discrete and MultiDiscrete, how many values each of its numbers has.
        first: For Discrete, the smallest value.
        image: Whether Stable-Baselines3 takes it for an image: three axes of bytes from 0 to 255.
    """

    name: str
    shape: tuple[int, ...]
    choices: tuple[int, ...] = ()
    first: int = 0
    image: bool = False

    def __post_init__(self) -> None:
        if min((*self.shape, *self.choices), default=1) < 1:
            raise InputError(f"the entry {shown(self.name)} has a size below 1")
        if self.choices and len(self.choices) != math.prod(self.shape):
            raise InputError(
                f"the entry {shown(self.name)} has {math.prod(self.shape)} numbers and choices for "
                f"{len(self.choices)}"
            )

    @property
    def width(self) -> int:
        """How many numbers of the vector it takes."""
        return sum(self.choices) if self.choices else math.prod(self.shape)

    def flat(self, values: Any) -> np.ndarray:
        """A batch of its values as rows of numbers."""
        rows = np.asarray(values)
        if rows.shape[1:] != self.shape:
            raise InputError(
                f"the entry {shown(self.name)} of the observation has shape {rows.shape[1:]}: "
                f"expected {self.shape}"
            )
        if not self.choices:
            return rows.reshape(len(rows), -1).astype(np.float32)
        columns = rows.reshape(len(rows), -1) - self.first
        parts = [
            (column[:, None] == np.arange(n)).astype(np.float32)
            for n, column in zip(self.choices, columns.T, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def restored(self, rows: np.ndarray) -> np.ndarray:
        """The inverse of `flat`."""
        if not self.choices:
            return rows.reshape(len(rows), *self.shape)
        ends = np.cumsum(self.choices)[:-1]
        values = [part.argmax(axis=1) + self.first for part in np.split(rows, ends, axis=1)]
        return np.stack(values, axis=1).reshape(len(rows), *self.shape)


Entries = tuple[Entry, ...]


def slices(entries: Entries) -> dict[str, slice]:
    """Where each entry is in the vector."""
    ends = np.cumsum([entry.width for entry in entries]).tolist()
    return {e.name: slice(end - e.width, end) for e, end in zip(entries, ends, strict=True)}


def flatten(entries: Entries, observation: Mapping[str, Any]) -> np.ndarray:
    """A batch of Dict observations as vectors.

    Raises:
        InputError: An entry is missing, or has another shape.
    """
    missing = [entry.name for entry in entries if entry.name not in observation]
    if missing:
        raise InputError(f"the observation has no entry {shown(missing[0])}: give all of its keys")
    return np.concatenate([entry.flat(observation[entry.name]) for entry in entries], axis=1)


def unflatten(entries: Entries, vectors: np.ndarray) -> dict[str, np.ndarray]:
    """The inverse of `flatten`."""
    at = slices(entries)
    return {entry.name: entry.restored(vectors[:, at[entry.name]]) for entry in entries}


def as_batch(observation: Any) -> Any:
    """One observation as a batch of one."""
    if isinstance(observation, Mapping):
        return {key: np.asarray(value)[None] for key, value in observation.items()}
    return np.asarray(observation)[None]


class DictBox(gym.spaces.Box):
    """The space of Dict observations as vectors: a Box that knows its entries."""

    def __init__(self, space: gym.spaces.Dict, name: str) -> None:
        """Read a Dict space.

        Args:
            space: The env's own.
            name: The env's name in error messages.

        Raises:
            InputError: An entry is of a kind that has no vector.
        """
        if not space.spaces:
            raise InputError(f"{name} has an empty Dict of observations: expected an entry or more")
        self.entries = tuple(_entry(key, one, name) for key, one in space.spaces.items())
        self.original = space
        parts = zip(self.entries, space.spaces.values(), strict=True)
        bounds = [_bounds(entry, one) for entry, one in parts]
        low, high = (np.concatenate(ends) for ends in zip(*bounds, strict=True))
        super().__init__(low, high, dtype=np.float32)

    def examples(self, n: int, seed: int) -> np.ndarray:
        """`n` vectors of possible observations; numbers are standard normal within the bounds."""
        rng = np.random.default_rng(seed)
        vectors = np.clip(rng.normal(0, 1, (n, *self.shape)), self.low, self.high)
        vectors = vectors.astype(np.float32)
        for entry in self.entries:
            at = slices(self.entries)[entry.name]
            if entry.choices:
                drawn = np.stack([rng.integers(0, c, n) for c in entry.choices], axis=1)
                vectors[:, at] = entry.flat(drawn.reshape(n, *entry.shape) + entry.first)
            elif entry.image:
                vectors[:, at] = rng.integers(0, 256, (n, entry.width))
        return vectors


class FlatObservations(gym.ObservationWrapper):
    """An env with Dict observations, which gives them as vectors."""

    def __init__(self, env: gym.Env, name: str) -> None:
        super().__init__(env)
        assert isinstance(env.observation_space, gym.spaces.Dict)
        self.observation_space = box = DictBox(env.observation_space, name)
        self._entries = box.entries

    def observation(self, observation: Any) -> np.ndarray:
        """One observation as a vector."""
        return flatten(self._entries, as_batch(observation))[0]


def vector_space(space: gym.Space[Any], name: str) -> gym.Space[Any]:
    """A Dict space as a space of vectors; any other space as it is."""
    return DictBox(space, name) if isinstance(space, gym.spaces.Dict) else space


def dict_space(entries: Entries) -> DictBox:
    """The space of these entries; the bounds of numbers are not known."""
    pairs = [(entry.name, _space(entry)) for entry in entries]  # a dict would be sorted by key
    return DictBox(gym.spaces.Dict(pairs), "it")


def _space(entry: Entry) -> gym.Space[Any]:
    if entry.choices and not entry.shape:
        return gym.spaces.Discrete(entry.choices[0], start=entry.first)
    if entry.choices:
        return gym.spaces.MultiDiscrete(list(entry.choices))
    if entry.image:
        return gym.spaces.Box(0, 255, entry.shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, entry.shape, np.float32)


def is_image(space: gym.Space[Any]) -> bool:
    """SB3's own rule: three axes of bytes from 0 to 255."""
    return (
        isinstance(space, gym.spaces.Box)
        and len(space.shape) == 3
        and space.dtype == np.uint8
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def _entry(key: Any, space: gym.Space[Any], name: str) -> Entry:
    if isinstance(space, gym.spaces.Discrete):
        return Entry(str(key), (), (int(space.n),), int(space.start))
    if isinstance(space, gym.spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return Entry(str(key), tuple(space.nvec.shape), tuple(map(int, space.nvec)))
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiBinary):
        return Entry(str(key), tuple(map(int, space.shape)), image=is_image(space))
    raise InputError(
        f"{name} has the entry {shown(key)} of {type(space).__name__} in its observations: "
        "expected Box, Discrete, MultiDiscrete or MultiBinary, so change it in a wrapper"
    )


def _bounds(entry: Entry, space: gym.Space[Any]) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(space, gym.spaces.Box):
        return space.low.astype(np.float32).ravel(), space.high.astype(np.float32).ravel()
    return np.zeros(entry.width, np.float32), np.ones(entry.width, np.float32)
