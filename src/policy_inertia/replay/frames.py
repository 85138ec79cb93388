"""The replay buffer of pixel tasks: every frame once, as bytes, in memory or in a file.

How stacks share frames is in `frame_ring.py`.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia import machine
from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, writing
from policy_inertia.replay import frame_ring
from policy_inertia.replay.frame_ring import ADDED, COMPLETE, WRITTEN, Ring
from policy_inertia.replay.interface import Stored, foreign_state
from policy_inertia.replay.transitions import unpack_actions
from policy_inertia.types import Array, Transition

Image = tuple[int, int, int]
"""Frames in a stack (the newest last), height, width."""


def _fields(actions: ActionSpace) -> np.dtype:
    """What is stored of a transition beside its frames, in 4-byte words."""
    action = (actions.dtype, actions.shape)
    return np.dtype(
        [
            ("prev_action", *action),
            ("action", *action),
            ("reward", np.float32),
            ("discount", np.float32),
        ]
    )


def _layout(
    capacity: int, image: Image, actions: ActionSpace
) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and type of every array; 2% spare frames hold the starts of episodes."""
    channels, height, width = image
    words = _fields(actions).itemsize // 4
    frames = capacity + capacity // 50 + 16 * channels + 1
    return {
        "frames": ((frames, height * width), np.uint8),
        "rows": ((capacity, 2 * channels + words), np.int32),
        "live": ((capacity,), np.int32),
        "where": ((capacity,), np.int32),
        "older": ((capacity,), np.int64),
        "newest": ((frames,), np.int64),
        "counts": ((3,), np.int64),
    }


def bytes_needed(capacity: int, image: Image, actions: ActionSpace) -> tuple[int, int]:
    """The bytes of a full buffer's frames, and of all the rest (which is always in memory)."""
    sizes = {
        name: math.prod(shape) * np.dtype(kind).itemsize
        for name, (shape, kind) in _layout(capacity, image, actions).items()
    }
    frames = sizes.pop("frames")
    return frames, sum(sizes.values())


def refuse_too_large(
    capacity: int, image: Image, actions: ActionSpace, memory_map: Path | None
) -> None:
    """Raise before training if a full buffer would not fit in the memory or on the disk."""
    frames, rest = bytes_needed(capacity, image, actions)
    what = (
        f"a replay buffer of {capacity:,} transitions of {'x'.join(map(str, image))} pixels needs "
    )
    memory = machine.free_memory()
    need = rest if memory_map else frames + rest
    if need > memory:
        raise InputError(
            f"{what}{need / 1e9:.2f} GB of memory and {memory / 1e9:.2f} GB are free: give a "
            "smaller --buffer-size"
            + ("" if memory_map else ", or keep its frames in a file with --memory-map FOLDER")
        )
    if memory_map:
        disk = machine.free_disk(memory_map)
        if frames > disk:
            raise InputError(
                f"{what}{frames / 1e9:.2f} GB in {memory_map} and {disk / 1e9:.2f} GB are free: "
                "give a smaller --buffer-size, or a --memory-map FOLDER on a larger disk"
            )


def _mapped(folder: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Bytes in a file without a name, which disappears with the process."""
    with writing(folder), tempfile.TemporaryFile(dir=folder) as file:
        # reserved now: a disk that fills up later would kill the process without a message
        os.posix_fallocate(file.fileno(), 0, math.prod(shape))
        return np.asarray(np.memmap(file, np.uint8, "r+", shape=shape))


class FrameReplay:
    """A ring of `capacity` transitions between stacks of frames, over a ring of frames.

    A sampled transition always equals the stored one: frames are shared only where their pixels are
    equal, whatever the envs do. A transition is complete until one of its frames is overwritten;
    only complete transitions are counted and drawn. There is one frame for each transition and 2%
    to spare. That is plenty for decisions of one step, which bring one new frame each. Decisions
    held for k steps bring min(k, C) new frames each, so fewer than `capacity` of them are stored.

    With `memory_map` the frames are in a file in that folder instead of in memory.
    """

    def __init__(
        self, capacity: int, image: Image, actions: ActionSpace, memory_map: Path | None = None
    ) -> None:
        shape: tuple[int, ...] = image  # callers without a type checker may give any
        if capacity < 1 or len(shape) != 3 or min(shape) < 1:
            raise InputError(
                f"a replay buffer of {capacity} transitions of images {tuple(image)}: expected at "
                "least 1, of images (frames, height, width)"
            )
        if memory_map is not None:
            make_folder(memory_map)
        refuse_too_large(capacity, image, actions, memory_map)
        self.capacity, self.image, self.actions = capacity, image, actions
        self._fields = _fields(actions)
        self.width = 2 * _words(image) + self._fields.itemsize // 4
        layout = _layout(capacity, image, actions)
        arrays = {
            # the system gives memory when it is first written, so a short run takes little
            name: _mapped(memory_map, shape)
            if memory_map is not None and name == "frames"
            else np.zeros(shape, kind)
            for name, (shape, kind) in layout.items()
        }
        self._ring = Ring(**arrays)
        self._ring.where[:] = -1
        self._ring.newest[:] = -1
        self._last = np.full((0, image[0]), -1, np.int64)  # of each env: its newest frames

    def __len__(self) -> int:
        return int(self._ring.counts[COMPLETE])

    @property
    def added(self) -> int:
        """Transitions ever added, including those that are gone."""
        return int(self._ring.counts[ADDED])

    def add(self, batch: Transition, envs: np.ndarray | None = None) -> None:
        """Store transitions with observations as rows of bytes; `envs` is the env of each.

        If an env's transition begins where its last one ended, only its new frames are stored.
        """
        n = len(batch.action)
        envs = np.arange(n) if envs is None else np.asarray(envs, np.int64)
        if envs.shape != (n,) or (n and envs.min() < 0):
            raise InputError(f"envs is {envs}: expected the number of an env for each of {n} rows")
        if n and envs.max() >= len(self._last):
            more = np.full((envs.max() + 1 - len(self._last), self.image[0]), -1)
            self._last = np.concatenate([self._last, more])
        fields = np.empty(n, self._fields)
        for name in self._fields.names or ():
            fields[name] = getattr(batch, name)
        frame_ring.store(
            self._ring,
            self._stacks(batch.obs, n),
            self._stacks(batch.next_obs, n),
            fields.view(np.int32).reshape(n, self._fields.itemsize // 4),
            envs,
            self._last,
        )

    def _stacks(self, obs: Array, n: int) -> np.ndarray:
        obs, size = np.ascontiguousarray(obs), math.prod(self.image)
        if obs.dtype != np.uint8 or obs.shape != (n, size):
            raise InputError(
                f"observations are {obs.dtype}{list(obs.shape)}: a replay of frames takes "
                f"uint8{[n, size]}"
            )
        return obs.reshape(n, self.image[0], size // self.image[0])

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...], out: np.ndarray) -> None:
        """Draw complete transitions uniformly, with replacement, as words into `out`."""
        if out.shape != (*shape, self.width) or out.dtype != np.int32 or not out.flags.c_contiguous:
            raise ValueError(f"out must be a contiguous int32{[*shape, self.width]}")
        index = rng.integers(0, len(self), shape).reshape(-1)
        words = out.reshape(-1, self.width)
        frame_ring.gather(self._ring, index, self.image[0], words, words.view(np.uint8))

    def unpack(self, words: Array) -> Transition:
        """Read sampled words as transitions again, in compiled code: stacks as rows of bytes."""
        d, size, k = _words(self.image), math.prod(self.image), math.prod(self.actions.shape)

        def pixels(a: Array) -> Array:
            return lax.bitcast_convert_type(a, jnp.uint8).reshape(*a.shape[:-1], 4 * d)[..., :size]

        def floats(a: Array) -> Array:
            return lax.bitcast_convert_type(a, jnp.float32)

        rest = words[..., 2 * d :]
        return Transition(
            obs=pixels(words[..., :d]),
            prev_action=unpack_actions(rest[..., :k], self.actions),
            action=unpack_actions(rest[..., k : 2 * k], self.actions),
            reward=floats(rest[..., 2 * k]),
            discount=floats(rest[..., 2 * k + 1]),
            next_obs=pixels(words[..., d : 2 * d]),
        )

    def state(self) -> dict[str, np.ndarray]:
        """What is stored, without the part that was never written."""
        ring = self._ring
        rows, frames = min(self.added, self.capacity), min(ring.counts[WRITTEN], len(ring.frames))
        return {
            "frames": ring.frames[:frames],
            "rows": ring.rows[:rows],
            "live": ring.live[: len(self)],
            "last": self._last,
            "counts": ring.counts,
        }

    def restore(self, state: Stored, added: int, where: str = "the checkpoint") -> None:
        """Return to a saved `state`; `where` names its file in error messages."""
        try:
            parts = self._checked(state, added)
        except (TypeError, KeyError, ValueError, IndexError):
            raise foreign_state(where) from None
        self._last = np.array(parts.pop("last"))
        for name, array in parts.items():
            getattr(self._ring, name)[: len(array)] = array
        frame_ring.link_all(self._ring)

    def _checked(self, state: Any, added: int) -> dict[str, np.ndarray]:
        """Check every part of a state: compiled code would follow wrong numbers anywhere."""
        expected = self.state()
        parts = {name: state[name] for name in expected}
        for name, own in expected.items():
            if (parts[name].dtype, parts[name].shape[1:]) != (own.dtype, own.shape[1:]):
                raise TypeError(name)
        n_added, written, whole = parts["counts"].tolist()
        n_frames, n_rows = min(written, len(self._ring.frames)), min(added, self.capacity)
        given = [n_added, *(len(parts[k]) for k in ("frames", "rows", "live"))]
        inside = (
            _within(parts["rows"][:, : 2 * self.image[0]], 0, n_frames)
            and _within(parts["live"], 0, n_rows)
            and _within(parts["last"], -1, written)
            and len(np.unique(parts["live"])) == whole
        )
        if given != [added, n_frames, n_rows, whole] or not inside:
            raise ValueError
        return parts


def _within(numbers: np.ndarray, low: int, end: int) -> bool:
    return not numbers.size or bool(low <= numbers.min() and numbers.max() < end)


def _words(image: Image) -> int:
    """How many words hold a stack."""
    return -(-math.prod(image) // 4)
