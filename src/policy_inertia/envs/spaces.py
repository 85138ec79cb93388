"""Which observation and action spaces are supported, and how observations become vectors."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array, Spec

SMALLEST = 36  # pixels: of less, the convolutions leave nothing


@dataclass(frozen=True)
class Spaces:
    """One env's spaces, as much of them as a policy must know (and can be written as JSON).

    Inside the library actions are counted from 0; `first_action` is added for the env.
    """

    obs_shape: tuple[int, ...]
    n_actions: int
    first_action: int = 0
    n_states: int | None = None  # for a Discrete observation space: fed as a one-hot
    first_state: int = 0
    pixels: bool = False  # observations are images of bytes: kept as such, and convolved

    @classmethod
    def of(cls, observation_space: gym.Space, action_space: gym.Space, name: str) -> Spaces:
        """Read a single env's spaces; refuse what the method cannot be applied to."""
        if not isinstance(action_space, gym.spaces.Discrete):
            raise InputError(
                f"{name} has the action space {action_space}: policy inertia needs Discrete "
                "actions, so wrap the env to offer a finite list of actions"
            )
        actions = (int(action_space.n), int(action_space.start))
        if isinstance(observation_space, gym.spaces.Discrete):
            states = (int(observation_space.n), int(observation_space.start))
            return cls((), *actions, *states)
        if isinstance(observation_space, gym.spaces.Box):
            shape = tuple(map(int, observation_space.shape))
            return cls(shape, *actions, pixels=_are_pixels(shape, observation_space.dtype))
        raise InputError(
            f"{name} has observations of {type(observation_space).__name__}: expected Box or "
            "Discrete, so wrap the env in gymnasium.wrappers.FlattenObservation"
        )

    def to_dict(self) -> dict[str, Any]:
        """What a file says of the spaces."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Spaces)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Spaces:
        return cls(**{**values, "obs_shape": tuple(values["obs_shape"])})

    @property
    def spec(self) -> Spec:
        size = self.n_states if self.n_states is not None else int(np.prod(self.obs_shape))
        return Spec(size, self.n_actions, image=self._image)

    @property
    def _image(self) -> tuple[int, int, int] | None:
        """Channels, height and width, where the channels stand first or last in the env."""
        if not self.pixels:
            return None
        a, b, c = self.obs_shape
        return (c, a, b) if self.channels_last else (a, b, c)

    @property
    def channels_last(self) -> bool:
        return self.pixels and self.obs_shape[2] < self.obs_shape[0]

    @property
    def dtype(self) -> Any:
        """Of encoded observations."""
        return np.uint8 if self.pixels else np.float32

    def encode(self, obs: Array) -> np.ndarray:
        """A batch of observations as vectors (B, obs_dim), images with their channels first.

        float32, or bytes for pixels; always a copy.
        """
        if self.n_states is not None:
            return np.eye(self.n_states, dtype=np.float32)[np.asarray(obs) - self.first_state]
        if self.channels_last:
            obs = np.moveaxis(np.asarray(obs), -1, 1)
        return np.array(obs, self.dtype, order="C").reshape(len(obs), -1)

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        """The inverse of `encode`, for policies that expect the env's own observations."""
        if self.n_states is not None:
            return vectors.argmax(axis=1) + self.first_state
        if self._image is not None:
            images = vectors.reshape(len(vectors), *self._image)
            return np.moveaxis(images, 1, -1) if self.channels_last else images
        return vectors.reshape(len(vectors), *self.obs_shape)


def _are_pixels(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether the convolutions apply: images of bytes, large enough, channels first or last."""
    if len(shape) != 3 or dtype != np.uint8:
        return False
    small, *sides = sorted(shape)
    return min(sides) >= SMALLEST and small <= 16 and small in (shape[0], shape[2])
