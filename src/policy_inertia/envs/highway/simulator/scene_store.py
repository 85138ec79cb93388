"""Copies of scenes, stored with room for the vehicles that are there and no more.

A scene of the simulator has room for 96 vehicles at least, and Two-Way has six. So a stored copy
takes a tenth of the memory. A copy includes the scene's random generator: what happens after it is
what happens in the original.
"""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.simulator.records import scene_dtype


class SceneStore:
    """`size` scenes with room for the same number of vehicles and obstacles."""

    def __init__(self, size: int, entries: int) -> None:
        self.scenes = np.zeros(size, scene_dtype(entries))

    @property
    def entries(self) -> int:
        """How many vehicles and obstacles a stored scene has room for."""
        return int(self.scenes["x"].shape[1])

    def put(self, places: np.ndarray, scenes: np.ndarray) -> None:
        """Store copies of `scenes`, one at each of `places`; make room if they have too little."""
        most = int((scenes["vehicles"] + scenes["obstacles"]).max(initial=0))
        if most > self.entries:
            larger = np.zeros(len(self.scenes), scene_dtype(most))
            _copy(self.scenes, larger, slice(None))
            self.scenes = larger
        _copy(scenes, self.scenes, places)

    def take(self, places: np.ndarray, into: np.ndarray) -> None:
        """Write the scenes at `places` into the first of the simulator's scenes."""
        _copy(self.scenes[places], into, slice(len(places)))

    def digests(self, places: np.ndarray) -> np.ndarray:
        """Return a number for each scene; equal scenes have equal numbers."""
        total = np.zeros(len(places), np.uint64)
        rng = np.random.default_rng(0)
        for name in ("x", "y", "heading", "speed", "target_speed", "timer"):
            values = np.ascontiguousarray(self.scenes[name][places]).view(np.uint64)
            odd = rng.integers(2**63, size=values.shape[1], dtype=np.uint64) * np.uint64(2)
            total += (values ^ (values >> np.uint64(32))) @ (odd + np.uint64(1))
        return total


def _copy(source: np.ndarray, target: np.ndarray, places: np.ndarray | slice) -> None:
    """Copy scenes to `places` of `target`; arrays over vehicles are cut to the shorter length."""
    for name in source.dtype.names or ():
        ours, theirs = source.dtype[name].shape, target.dtype[name].shape
        if ours == theirs:
            target[name][places] = source[name]
        else:
            room = min(ours[-1], theirs[-1])
            target[name][places, ..., :room] = source[name][..., :room]
