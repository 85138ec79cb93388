"""The latest checkpoint of a run, which a kill at any moment leaves whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.replay.transitions import Stored
from policy_inertia.storage import (
    FORMAT,
    cannot_write,
    read_arrays,
    read_json,
    write_arrays,
    write_json,
)


def _write_npy(path: Path, array: np.ndarray) -> None:
    with open(path, "wb") as file:
        np.save(file, array, allow_pickle=False)  # straight from where it lies, without a copy
        file.flush()
        os.fsync(file.fileno())


def _read_npy(path: Path) -> np.ndarray:
    """The array as it lies in the file: a replay may be half as large as the memory."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): the checkpoint is damaged, so start the run "
            "again with another --out"
        ) from error


class Checkpoints:
    """The latest checkpoint of a run: a folder of its own that one small file points to.

    A checkpoint is written beside the last one, then the pointer is moved, then the last one is
    removed: a kill at any moment leaves a whole one.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.pointer = run / "latest.json"

    def save(
        self, name: str, arrays: dict[str, np.ndarray], records: Stored, state: dict[str, Any]
    ) -> None:
        """Save a run: `records`, its replay, as `replay.npy`, or several as `replay-NAME.npy`."""
        folder = self.run / f"checkpoint-{name}"
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            if isinstance(records, dict):
                for part, array in records.items():
                    _write_npy(folder / f"replay-{part}.npy", array)
            else:
                _write_npy(folder / "replay.npy", records)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise cannot_write(folder, error) from error
        write_arrays(folder / "state.safetensors", arrays, {})
        write_json(folder / "state.json", {"format": FORMAT, **state})
        write_json(self.pointer, {"format": FORMAT, "checkpoint": folder.name})
        for other in self.run.glob("checkpoint-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)

    def load(self) -> tuple[dict[str, np.ndarray], Stored, dict[str, Any]] | None:
        """What was saved last, or None where nothing was. The replay is still in its files."""
        if not self.pointer.exists():
            return None
        folder = self.run / str(read_json(self.pointer, "a checkpoint's pointer")["checkpoint"])
        state = read_json(folder / "state.json", "a checkpoint's state")
        arrays, _ = read_arrays(folder / "state.safetensors")
        parts = {p.stem.removeprefix("replay-"): p for p in folder.glob("replay-*.npy")}
        if parts:
            return arrays, {name: _read_npy(path) for name, path in parts.items()}, state
        return arrays, _read_npy(folder / "replay.npy"), state

    def remove(self) -> None:
        self.pointer.unlink(missing_ok=True)
        for folder in self.run.glob("checkpoint-*"):
            shutil.rmtree(folder, ignore_errors=True)
