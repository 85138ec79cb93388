"""The latest checkpoint of a run. A kill at any moment leaves a complete one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.replay.interface import Stored
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
        np.save(file, array, allow_pickle=False)  # straight from the array, without a copy
        file.flush()
        os.fsync(file.fileno())


def _read_npy(path: Path) -> np.ndarray:
    """Map the array from its file: a replay buffer may be half as large as the memory."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): the checkpoint is damaged, so start the run "
            "again with another --out"
        ) from error


class Checkpoints:
    """The latest checkpoint of a run: a folder that one small file points to.

    A new checkpoint is written beside the last one, then the pointer is moved, then the last one is
    removed. So a kill at any moment leaves a complete one.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.pointer = run / "latest.json"

    def save(
        self, name: str, arrays: dict[str, np.ndarray], records: Stored, state: dict[str, Any]
    ) -> None:
        """Save a run.

        Args:
            name: Names the folder, `checkpoint-NAME`.
            arrays: The run's arrays, by name.
            records: The replay buffer's state: `replay.npy`, or several `replay-NAME.npy`.
            state: The rest of the run's state, as JSON.
        """
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
        """Read the last checkpoint, or return None. The replay buffer stays in its files."""
        if not self.pointer.exists():
            return None
        folder = self.run / str(
            read_json(self.pointer, dict, "a checkpoint's pointer")["checkpoint"]
        )
        state = read_json(folder / "state.json", dict, "a checkpoint's state")
        arrays, _ = read_arrays(folder / "state.safetensors")
        parts = {p.stem.removeprefix("replay-"): p for p in folder.glob("replay-*.npy")}
        if parts:
            return arrays, {name: _read_npy(path) for name, path in parts.items()}, state
        return arrays, _read_npy(folder / "replay.npy"), state

    def remove(self) -> None:
        """Remove every checkpoint of the run."""
        self.pointer.unlink(missing_ok=True)
        for folder in self.run.glob("checkpoint-*"):
            shutil.rmtree(folder, ignore_errors=True)
