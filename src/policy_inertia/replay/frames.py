"""The replay buffer of pixel tasks: every frame once, as bytes, in memory or in a file.

It has the interface of `replay.Replay`. How stacks share frames is in `framering.py`.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia import machine as room
from policy_inertia.errors import InputError
from policy_inertia.replay import frame_ring as framering
from policy_inertia.replay.frame_ring import ADDED, FIELDS, WHOLE, WRITTEN, Ring
from policy_inertia.replay.transitions import Stored, foreign
from policy_inertia.storage import cannot_write
from policy_inertia.types import Array, Transition

Image = tuple[int, int, int]  # frames in a stack (the newest last), height, width


def _layout(capacity: int, image: Image) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and type of every array; the ring of frames has 2% of room for episodes' starts."""
    channels, height, width = image
    frames = capacity + capacity // 50 + 16 * channels + 1
    return {
        "frames": ((frames, height * width), np.uint8),
        "rows": ((capacity, 2 * channels + FIELDS), np.int32),
        "live": ((capacity,), np.int32),
        "where": ((capacity,), np.int32),
        "older": ((capacity,), np.int64),
        "newest": ((frames,), np.int64),
        "counts": ((3,), np.int64),
    }


def bytes_needed(capacity: int, image: Image) -> tuple[int, int]:
    """Bytes of a full replay's frames, and of all the rest of it (which is always in memory)."""
    sizes = {
        name: math.prod(shape) * np.dtype(kind).itemsize
        for name, (shape, kind) in _layout(capacity, image).items()
    }
    frames = sizes.pop("frames")
    return frames, sum(sizes.values())


def refuse_too_large(capacity: int, image: Image, memory_map: Path | None) -> None:
    """Say so before training, if a full replay would not fit in the memory or on the disk."""
    frames, rest = bytes_needed(capacity, image)
    what = f"a replay of {capacity:,} transitions of {'x'.join(map(str, image))} pixels needs "
    memory = room.free_memory()
    need = rest if memory_map else frames + rest
    if need > memory:
        raise InputError(
            f"{what}{need / 1e9:.2f} GB of memory and {memory / 1e9:.2f} GB are free: give a "
            "smaller --buffer-size"
            + ("" if memory_map else ", or keep its frames in a file with --memory-map FOLDER")
        )
    if memory_map:
        disk = room.free_disk(memory_map)
        if frames > disk:
            raise InputError(
                f"{what}{frames / 1e9:.2f} GB in {memory_map} and {disk / 1e9:.2f} GB are free: "
                "give a smaller --buffer-size, or a --memory-map FOLDER on a larger disk"
            )


def _mapped(folder: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Bytes in a file that has no name: it is gone with the process, however that ends."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # reserved now: a disk that fills up later would end the process without a word
            os.posix_fallocate(file.fileno(), 0, math.prod(shape))
            return np.asarray(np.memmap(file, np.uint8, "r+", shape=shape))
    except OSError as error:
        raise cannot_write(folder, error) from error


class FrameReplay:
    """A ring of `capacity` transitions between stacks of frames, over a ring of frames.

    What comes back is always what was stored: frames are shared where their pixels are equal,
    whatever the envs do. A transition is whole until one of its frames is overwritten, and only
    whole ones are counted and drawn. There is a frame for each transition and 2% to spare: plenty
    for decisions of one step, which bring one new frame each; of decisions held for k steps, with
    min(k, C) new frames each, fewer than `capacity` are kept.

    With `memory_map` the frames are in a file in that folder instead of in memory.
    """

    def __init__(self, capacity: int, image: Image, memory_map: Path | None = None) -> None:
        if capacity < 1 or len(image) != 3 or min(image) < 1:
            raise InputError(
                f"a replay of {capacity} transitions of images {tuple(image)}: expected at least "
                "1, of images (frames, height, width)"
            )
        if memory_map is not None:
            try:
                memory_map.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(memory_map, error) from error
        refuse_too_large(capacity, image, memory_map)
        self.capacity, self.image = capacity, image
        self.width = 2 * _words(image) + FIELDS  # of a sampled row
        layout = _layout(capacity, image)
        arrays = {
            # memory that is touched only when it is written, so that a short run takes little
            name: _mapped(memory_map, shape)
            if memory_map is not None and name == "frames"
            else np.zeros(shape, kind)
            for name, (shape, kind) in layout.items()
        }
        self._ring = Ring(**arrays)
        self._ring.where[:] = -1
        self._ring.newest[:] = -1
        self._last = np.full((0, image[0]), -1, np.int64)  # by env: the frames of its last next_obs

    def __len__(self) -> int:
        return int(self._ring.counts[WHOLE])

    @property
    def added(self) -> int:
        """Transitions ever added, those that are gone included."""
        return int(self._ring.counts[ADDED])

    def add(self, batch: Transition, who: np.ndarray | None = None) -> None:
        """Store transitions, their observations as rows of bytes; `who` is the env of each.

        An env whose next transition begins where its last one ended costs only its new frames.
        """
        n = len(batch.action)
        who = np.arange(n) if who is None else np.asarray(who, np.int64)
        if who.shape != (n,) or (n and who.min() < 0):
            raise InputError(f"who is {who}: expected the number of an env for each of {n} rows")
        if n and who.max() >= len(self._last):
            more = np.full((who.max() + 1 - len(self._last), self.image[0]), -1)
            self._last = np.concatenate([self._last, more])
        fields = np.empty(n, [("a", np.int32, 2), ("r", np.float32, 2)])
        fields["a"] = np.transpose([batch.prev_action, batch.action])
        fields["r"] = np.transpose([batch.reward, batch.discount])
        framering.store(
            self._ring,
            self._stacks(batch.obs, n),
            self._stacks(batch.next_obs, n),
            fields.view(np.int32).reshape(n, FIELDS),
            who,
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
        """Draw whole transitions uniformly, with replacement, into `out` of `(*shape, width)`."""
        if out.shape != (*shape, self.width) or out.dtype != np.int32 or not out.flags.c_contiguous:
            raise ValueError(f"out must be a contiguous int32{[*shape, self.width]}")
        index = rng.integers(0, len(self), shape).reshape(-1)
        words = out.reshape(-1, self.width)
        framering.gather(self._ring, index, words, words.view(np.uint8))

    def state(self) -> dict[str, np.ndarray]:
        """What is stored, as it lies, without the part that was never written."""
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
        """Come back to a `state`: the same draws and the same dropping as if it had gone on."""
        try:
            parts = self._checked(state, added)
        except (TypeError, KeyError, ValueError, IndexError):
            raise foreign(where) from None
        self._last = np.array(parts.pop("last"))
        for name, array in parts.items():
            getattr(self._ring, name)[: len(array)] = array
        framering.link_all(self._ring)

    def _checked(self, state: Any, added: int) -> dict[str, np.ndarray]:
        """The parts of a sound state: compiled code would follow wrong numbers anywhere."""
        expected = self.state()
        parts = {name: state[name] for name in expected}
        for name, own in expected.items():
            if (parts[name].dtype, parts[name].shape[1:]) != (own.dtype, own.shape[1:]):
                raise TypeError(name)
        n_added, written, whole = parts["counts"].tolist()
        n_frames, n_rows = min(written, len(self._ring.frames)), min(added, self.capacity)
        given = [n_added, *(len(parts[k]) for k in ("frames", "rows", "live"))]
        inside = (
            _within(parts["rows"][:, :-FIELDS], 0, n_frames)
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
    """Whole words that hold a stack."""
    return -(-math.prod(image) // 4)


def unpack_frames(words: Array, image: Image) -> Transition:
    """Read sampled words as transitions again, in compiled code: stacks as flat rows of bytes."""
    from jax import lax
    from jax import numpy as jnp

    d, size = _words(image), math.prod(image)

    def pixels(a: Array) -> Array:
        return lax.bitcast_convert_type(a, jnp.uint8).reshape(*a.shape[:-1], 4 * d)[..., :size]

    def floats(a: Array) -> Array:
        return lax.bitcast_convert_type(a, jnp.float32)

    return Transition(
        obs=pixels(words[..., :d]),
        prev_action=words[..., 2 * d],
        action=words[..., 2 * d + 1],
        reward=floats(words[..., 2 * d + 2]),
        discount=floats(words[..., 2 * d + 3]),
        next_obs=pixels(words[..., d : 2 * d]),
    )
