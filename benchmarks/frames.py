"""Time the replay of frames: add, sample and unpack a minibatch, beside a plain copy of it.

Run `python benchmarks/frames.py`. The replay is far larger than the processor's caches, so its
frames come from memory, as they do in a long run. It takes 0.8 GB.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from policy_inertia.machine import use_one_thread

use_one_thread()  # before NumPy and JAX are imported

# ruff: noqa: E402
import jax
import numpy as np

from policy_inertia.actions.discrete import Discrete
from policy_inertia.replay.frames import FrameReplay
from policy_inertia.types import Transition

IMAGE, ENVS, BATCH = (4, 84, 84), 8, 64
TRANSITIONS, TURNS = 100_000, 200


def play(replay: FrameReplay, rng: np.random.Generator) -> list[float]:
    """Fill the replay with frames in which 200 pixels change at each step; time each `add`."""
    pixels, times = IMAGE[1] * IMAGE[2], []
    stacks = np.zeros((ENVS, IMAGE[0], pixels), np.uint8)
    rows, zeros, ones = np.arange(ENVS)[:, None], np.zeros(ENVS, int), np.ones(ENVS)
    while replay.added < TRANSITIONS:
        after = np.roll(stacks, -1, axis=1)
        after[:, -1] = stacks[:, -1]
        change = rng.integers(0, pixels, (ENVS, 200))
        after[:, -1][rows, change] = rng.integers(0, 256, change.shape, np.uint8)
        obs, next_obs = (a.reshape(ENVS, -1) for a in (stacks, after))
        started = time.perf_counter()
        replay.add(Transition(obs, zeros, zeros, ones, ones, next_obs))
        times.append(time.perf_counter() - started)
        stacks = after
    return times


def main() -> None:
    rng, replay = np.random.default_rng(0), FrameReplay(TRANSITIONS, IMAGE, Discrete(4))
    adding = play(replay, rng)
    out = np.zeros((1, BATCH, replay.width), np.int32)
    unpacked = jax.jit(replay.unpack)
    # copy from other memory each time: a minibatch is never where the last one was
    others = [rng.integers(0, 99, out.shape, np.int32) for _ in range(50)]
    variants: dict[str, Callable[[int], object]] = {
        "sample": lambda turn: replay.sample(rng, (1, BATCH), out),
        "copy": lambda turn: np.copyto(out, others[turn % len(others)]),
        "unpack": lambda turn: jax.block_until_ready(unpacked(out)),
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(-5, TURNS):  # the variants take turns, so a busy machine slows all alike
        for name, call in variants.items():
            started = time.perf_counter()
            call(turn)
            if turn >= 0:
                times[name].append(time.perf_counter() - started)
    print(f"add: {statistics.median(adding) / ENVS * 1e6:.0f} µs a transition")
    for name, values in times.items():
        print(f"{name}: {statistics.median(values) * 1e3:.2f} ms for {out.nbytes / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
