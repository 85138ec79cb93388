"""Compiled code: a ring that holds each frame once, and stacks as numbers of frames in it.

A frame's number counts all frames ever written; its place is the number modulo the ring's length.
The same holds for transitions. The rest of the library uses `frames.FrameReplay`.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

ADDED, WRITTEN, COMPLETE = range(3)  # counts: transitions ever, frames ever, complete transitions


class Ring(NamedTuple):
    """The arrays of a replay of `T` transitions of `C` frames each, over `F` frames."""

    frames: np.ndarray  # (F, pixels) uint8
    rows: np.ndarray  # (T, 2 C + words) int32: places of obs's and next_obs's frames, other words
    live: np.ndarray  # (T,) int32: starts with the places of the complete transitions
    where: np.ndarray  # (T,) int32: the index in `live` of a transition's place, or -1
    older: np.ndarray  # (T,) int64: the previous transition with the same oldest frame
    newest: np.ndarray  # (F,) int64: the last transition whose oldest frame this is, or -1
    counts: np.ndarray  # (3,) int64


@numba.njit(nogil=True)
def _same(a: np.ndarray, b: np.ndarray) -> bool:
    for start in range(0, len(a), 512):  # in blocks of bytes without a branch: vector code
        x, y, different = a[start : start + 512], b[start : start + 512], np.uint8(0)
        for j in range(len(x)):
            different = np.uint8(different | (x[j] ^ y[j]))
        if different:
            return False
    return True


@numba.njit(nogil=True)
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for j in range(len(source)):  # becomes vector code, which assignment to a slice does not
        target[j] = source[j]


@numba.njit(nogil=True)
def _drop(ring: Ring, newest: int) -> None:
    """Drop this transition and the older ones in its list that still exist."""
    number, capacity = newest, len(ring.rows)
    while number >= max(0, ring.counts[ADDED] - capacity):  # older ones were overwritten
        place = number % capacity
        at = ring.where[place]
        ring.counts[COMPLETE] -= 1
        last = ring.live[ring.counts[COMPLETE]]
        ring.live[at], ring.where[last] = last, at
        ring.where[place] = -1
        number = ring.older[place]


@numba.njit(nogil=True)
def _link(ring: Ring, number: int) -> None:
    """Add a transition to the list of its oldest frame, the first frame of its observation."""
    place = number % len(ring.rows)
    oldest = ring.rows[place, 0]
    ring.older[place] = ring.newest[oldest]
    ring.newest[oldest] = number


@numba.njit(nogil=True)
def _complete(ring: Ring, stack: np.ndarray, numbers: np.ndarray, known: int) -> None:
    """Write the frames of `stack` from `known` on, except those equal to the frame before them."""
    for c in range(known, len(stack)):
        if c > 0 and _same(stack[c], stack[c - 1]):
            numbers[c] = numbers[c - 1]
            continue
        numbers[c] = ring.counts[WRITTEN]
        ring.counts[WRITTEN] += 1
        place = numbers[c] % len(ring.frames)
        _drop(ring, ring.newest[place])
        ring.newest[place] = -1
        _copy(stack[c], ring.frames[place])


@numba.njit(nogil=True)
def _known(ring: Ring, stack: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether the frames with these numbers exist, are recent, and equal `stack`.

    Recent means in the newest eighth of the ring. So a new transition does not depend on frames
    that are overwritten soon, however long a picture stands still.
    """
    if numbers[0] < max(0, ring.counts[WRITTEN] - len(ring.frames) // 8):
        return False
    for c in range(len(stack)):
        if not _same(ring.frames[numbers[c] % len(ring.frames)], stack[c]):
            return False
    return True


@numba.njit(nogil=True)
def _shift(obs: np.ndarray, after: np.ndarray) -> int:
    """The smallest d for which `after` begins with the frames of `obs` from d on."""
    for d in range(len(obs)):
        same = True
        for c in range(len(obs) - d):
            if not _same(obs[c + d], after[c]):
                same = False
                break
        if same:
            return d
    return len(obs)


@numba.njit(cache=True, nogil=True)
def store(
    ring: Ring,
    obs: np.ndarray,
    next_obs: np.ndarray,
    fields: np.ndarray,
    envs: np.ndarray,
    last: np.ndarray,
) -> None:
    """Add transitions; `last` holds the numbers of each env's newest frames.

    Numbers never fall within a stack, and those of next_obs never below those of obs: the oldest
    frame of a transition is the first of its obs. The ring has more than 16 C frames, so that one
    transition never overwrites frames of its own.
    """
    channels, before = obs.shape[1], np.empty(obs.shape[1], np.int64)
    for i in range(len(obs)):
        numbers = last[envs[i]]
        if not _known(ring, obs[i], numbers):
            _complete(ring, obs[i], numbers, 0)
        before[:] = numbers
        d = _shift(obs[i], next_obs[i])
        numbers[: channels - d] = before[d:]
        _complete(ring, next_obs[i], numbers, channels - d)

        number = ring.counts[ADDED]
        ring.counts[ADDED] += 1
        place = number % len(ring.rows)
        row = ring.rows[place]
        for c in range(channels):
            row[c] = before[c] % len(ring.frames)
            row[channels + c] = numbers[c] % len(ring.frames)
        row[2 * channels :] = fields[i]
        if ring.where[place] < 0:  # otherwise it replaces the one that it overwrites
            ring.where[place] = ring.counts[COMPLETE]
            ring.live[ring.counts[COMPLETE]] = place
            ring.counts[COMPLETE] += 1
        _link(ring, number)


@numba.njit(cache=True, nogil=True)
def link_all(ring: Ring) -> None:
    """Rebuild `where`, `older` and `newest` from the rest."""
    ring.where[:] = -1
    ring.newest[:] = -1
    for at in range(ring.counts[COMPLETE]):
        ring.where[ring.live[at]] = at
    for number in range(max(0, ring.counts[ADDED] - len(ring.rows)), ring.counts[ADDED]):
        if ring.where[number % len(ring.rows)] >= 0:
            _link(ring, number)


@numba.njit(cache=True, nogil=True)
def gather(
    ring: Ring, index: np.ndarray, channels: int, out: np.ndarray, image: np.ndarray
) -> None:
    """Copy the transitions `live[index]` into `out` as words; `image` is `out` as bytes."""
    pixels = ring.frames.shape[1]
    words = ring.rows.shape[1] - 2 * channels  # beside the frames
    half = 4 * ((out.shape[1] - words) // 2)  # bytes of a stack, padded to whole words
    for i in range(len(index)):
        row = ring.rows[ring.live[index[i]]]
        for c in range(channels):
            start = c * pixels
            _copy(ring.frames[row[c]], image[i, start : start + pixels])
            start += half
            _copy(ring.frames[row[channels + c]], image[i, start : start + pixels])
        out[i, -words:] = row[-words:]
