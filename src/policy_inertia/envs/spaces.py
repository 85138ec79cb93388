"""Which observation and action spaces are supported, and how observations become vectors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions import kinds
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.space import ActionSpace
from policy_inertia.envs.dict_observations import (
    DictBox,
    Entries,
    as_batch,
    flatten,
    vector_space,
)
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.schema import read_as
from policy_inertia.types import Array

SCALING = ("center", "deviation")
"""The names of a scaling's arrays in a checkpoint."""
SMALLEST_IMAGE = 36
"""Pixels per side of an image of bytes: smaller arrays of bytes are often codes, not brightness."""
SMALLEST_PLANES = 10
"""Cells per side of boolean planes, such as those of MinAtar."""

MOST_NUMBERS = 2**31
"""In one observation."""


@dataclass(frozen=True)
class Spaces:
    """One env's spaces, as far as a policy must know them; they can be written as JSON."""

    obs_shape: tuple[int, ...]
    actions: ActionSpace
    n_states: int | None = None
    """For a Discrete observation space: its size. Networks see a one-hot."""
    first_state: int = 0
    pixels: bool = False
    """Observations are images of bytes: stored as bytes, and seen through convolutions."""
    planes: bool = False
    """These images are boolean planes of one moment: encoded as the bytes 0 and 255."""
    scaling: Scaling | None = None
    """What encoding does to the numbers of an observation, before any network sees them."""
    entries: Entries = ()
    """Of Dict observations, which are vectors here: the entries, one behind the other."""

    @classmethod
    def of(
        cls, observation_space: gym.Space[Any], action_space: gym.Space[Any], name: str
    ) -> Spaces:
        """Read the spaces of a single env.

        Args:
            observation_space: The env's own.
            action_space: The env's own.
            name: The env's name in error messages.

        Raises:
            InputError: One of the spaces is not supported.
        """
        actions = kinds.from_gym(action_space, name)
        observation_space = vector_space(observation_space, name)
        if isinstance(observation_space, DictBox):
            return cls(observation_space.shape, actions, entries=observation_space.entries)
        if isinstance(observation_space, gym.spaces.Discrete):
            return cls((), actions, int(observation_space.n), int(observation_space.start))
        if isinstance(observation_space, gym.spaces.Box):
            shape = tuple(map(int, observation_space.shape))
            planes = observation_space.dtype == np.bool_
            pixels = planes or observation_space.dtype == np.uint8
            pixels = pixels and _are_pixels(shape, planes)
            return cls(shape, actions, pixels=pixels, planes=pixels and planes)
        raise InputError(
            f"{name} has observations of {type(observation_space).__name__}: expected Box, "
            "Discrete or Dict, so wrap the env in gymnasium.wrappers.FlattenObservation"
        )

    def to_dict(self) -> dict[str, Any]:
        """The spaces as JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(Spaces)}
        scaling = self.scaling and dataclasses.asdict(self.scaling)
        entries = [dataclasses.asdict(entry) for entry in values.pop("entries")]
        values |= {"actions": self.actions.to_dict(), "scaling": scaling}
        return values | ({"entries": entries} if entries else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Spaces:
        """The inverse of `to_dict`.

        Raises:
            InputError: A value is missing or wrong.
        """
        described = read_as(dict[str, Any], values.get("actions"))
        return read_as(Spaces, values, actions=kinds.from_dict(described))

    def __post_init__(self) -> None:
        sizes = self.obs_shape if self.n_states is None else (self.n_states,)
        if min(sizes, default=1) < 1 or math.prod(sizes) > MOST_NUMBERS:
            raise InputError(
                f"observations of shape {list(sizes)[:8]}: expected 1 to {MOST_NUMBERS} numbers"
            )
        if (self.pixels or self.planes) and not _are_pixels(self.obs_shape, self.planes):
            raise InputError(
                f"images of shape {list(self.obs_shape)[:8]}: expected channels, height and width, "
                f"with sides from {SMALLEST_PLANES if self.planes else SMALLEST_IMAGE} on"
            )
        if self.planes and not self.pixels:
            raise InputError("the observations are planes and no pixels: expected both")
        widths = sum(entry.width for entry in self.entries)
        if self.entries and (self.obs_shape != (widths,) or self.pixels or self.n_states):
            raise InputError(
                f"observations of shape {list(sizes)[:8]} with entries of {widths} numbers: "
                "expected a vector of all entries"
            )
        numbers = 0 if self.scaling is None else len(self.scaling.center)
        if numbers and (self.pixels or self.n_states is not None or numbers != math.prod(sizes)):
            raise InputError(
                f"the scale of the observations has {numbers} numbers and they are of shape "
                f"{list(sizes)[:8]}: expected one number for each of a vector's"
            )

    def __str__(self) -> str:
        states = f"{self.n_states} states" if self.n_states else f"shape {self.obs_shape}"
        return f"observations of {states} and actions that are a {self.actions}"

    @property
    def unscaled(self) -> Spaces:
        """The env's own spaces: observations as they are."""
        return dataclasses.replace(self, scaling=None)

    @property
    def discrete(self) -> Discrete:
        """The actions, for code that needs a finite list of them.

        Raises:
            InputError: The actions are of another kind.
        """
        if not isinstance(self.actions, Discrete):
            raise InputError(
                f"the actions are a {self.actions}: this needs Discrete actions; policies with "
                "continuous ones can be measured, filtered and limited (docs/continuous.md)"
            )
        return self.actions

    @property
    def spec(self) -> Spec:
        """The sizes that a learner needs to know."""
        size = self.n_states if self.n_states is not None else int(np.prod(self.obs_shape))
        return Spec(size, self.actions, image=self._image, planes=self.planes)

    @property
    def _image(self) -> tuple[int, int, int] | None:
        """Channels, height and width; the env may have its channels first or last."""
        if not self.pixels:
            return None
        a, b, c = self.obs_shape
        return (c, a, b) if self.channels_last else (a, b, c)

    @property
    def channels_last(self) -> bool:
        """Whether the env's images have their channels last."""
        return self.pixels and self.obs_shape[2] <= self.obs_shape[0]

    @property
    def dtype(self) -> Any:
        """The type of encoded observations."""
        return np.uint8 if self.pixels else np.float32

    def read_batch(self, obs: ArrayLike, name: str) -> np.ndarray:
        """Return a batch of the env's observations as an array.

        Raises:
            InputError: The shape is another one; `name` is what the sentence calls the policy.
        """
        batch = self.flat(obs)
        if batch.shape[1:] != self.obs_shape or batch.ndim == len(self.obs_shape):
            raise InputError(
                f"the observations have shape {batch.shape}: {name} expects a batch of "
                f"{self.obs_shape}"
            )
        return batch

    def flat(self, observation: Any) -> np.ndarray:
        """Return an observation, or a batch of them, as an array: a Dict becomes a vector.

        Raises:
            InputError: It is a Dict, and the env has none, or its entries are others.
        """
        if not isinstance(observation, Mapping):
            return np.asarray(observation)
        if not self.entries:
            raise InputError(
                f"the observation is a Dict: expected an array of shape {self.obs_shape}"
            )
        first = self.entries[0]
        if np.asarray(observation.get(first.name)).shape != first.shape:
            return flatten(self.entries, observation)
        return flatten(self.entries, as_batch(observation))[0]

    @property
    def masked(self) -> bool:
        """Whether the env's action masks are part of what a policy sees."""
        return False

    def encode(self, obs: Array, masks: np.ndarray | None = None) -> np.ndarray:
        """Turn a batch of observations into vectors (B, obs_dim), images with channels first.

        The result is float32, or bytes for pixels, and always a copy. The action masks matter only
        where a core's outputs follow the observation.
        """
        if self.n_states is not None:
            return np.eye(self.n_states, dtype=np.float32)[np.asarray(obs) - self.first_state]
        if self.channels_last:
            obs = np.moveaxis(np.asarray(obs), -1, 1)
        vectors = np.array(obs, self.dtype, order="C").reshape(len(obs), -1)
        if self.planes:
            vectors *= 255
        return vectors if self.scaling is None else self.scaling.apply(vectors)

    @property
    def remembered(self) -> dict[str, tuple[int, ...]]:
        """What encoding remembers since an episode began: names, and the shapes of one row."""
        return {}

    def encode_with(
        self, obs: Array, memory: Mapping[str, np.ndarray], masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Encode the next observation of each env.

        Args:
            obs: A batch of observations.
            memory: What was remembered, as `remembered` names it; zeros when an episode begins.
            masks: As in `encode`.

        Returns:
            The vectors, and what is remembered from now on.
        """
        return self.encode(obs, masks), {}

    def encode_for_networks(self, obs: Array, masks: np.ndarray | None = None) -> np.ndarray:
        """Encode observations for networks only: parts that no network sees may be zeros."""
        return self.encode(obs, masks)

    @property
    def features(self) -> int:
        """How many numbers networks see instead of the observation; 0 where they see it."""
        return 0

    @property
    def network_scaling(self) -> Scaling | None:
        """The scale of what networks see: of the observation, or of the features."""
        return self.scaling

    def with_scaling(self, scaling: Scaling) -> Self:
        """The same spaces with this scale of what networks see."""
        return dataclasses.replace(self, scaling=scaling)

    def measured(self, vectors: np.ndarray) -> Self:
        """The same spaces with what they need to know of typical encoded observations."""
        return self

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What was measured: an env that is not deterministic would give other numbers."""
        if self.scaling is None:
            return {}
        return dict(zip(SCALING, self.scaling.arrays, strict=True))

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same spaces with the numbers that `to_arrays` returned."""
        if self.scaling is None:
            return self
        return dataclasses.replace(
            self, scaling=Scaling(*(tuple(arrays[name].tolist()) for name in SCALING))
        )

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        """The inverse of `encode`, for policies that expect the env's own observations."""
        if self.n_states is not None:
            return vectors.argmax(axis=1) + self.first_state
        if self._image is not None:
            images = vectors.reshape(len(vectors), *self._image)
            images = np.moveaxis(images, 1, -1) if self.channels_last else images
            return images != 0 if self.planes else images
        if self.scaling is not None:
            vectors = self.scaling.undo(vectors)
        return vectors.reshape(len(vectors), *self.obs_shape)


def _are_pixels(shape: tuple[int, ...], planes: bool) -> bool:
    """Whether the convolutions apply: large enough images, channels first or last."""
    if len(shape) != 3:
        return False
    small, *sides = sorted(shape)
    smallest = SMALLEST_PLANES if planes else SMALLEST_IMAGE
    return min(sides) >= smallest and small <= 16 and small in (shape[0], shape[2])
