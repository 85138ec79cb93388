"""The two newest checkpoints of a run. A kill at any moment leaves a whole one."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from policy_inertia import machine
from policy_inertia.errors import InputError
from policy_inertia.files import (
    make_folder,
    new_folder,
    refuse_link,
    remove_file,
    remove_folder,
    sync_folder,
    write_new,
    writing,
)
from policy_inertia.replay.interface import Stored
from policy_inertia.storage import (
    FORMAT,
    encode_arrays,
    encode_json,
    read_arrays,
    read_json,
    write_json,
)
from policy_inertia.training.checksums import Checksum, checksum_of, chunks_of, summed

NAME = re.compile(r"checkpoint-[0-9]{1,18}")
"""The name of a checkpoint's folder."""
POINTER, CHECKSUMS = "latest.json", "checksums.json"
STATE, ARRAYS = "state.json", "state.safetensors"
REPLAY = re.compile(r"replay(?:-([a-z]+))?\.npy")


@dataclass(frozen=True)
class Pointer:
    """The contents of `latest.json`: the names of the two newest checkpoints."""

    checkpoint: str
    previous: str | None

    def __post_init__(self) -> None:
        for name in self.names:
            if not NAME.fullmatch(name):
                raise InputError(f"it names {name[:60]!r}, which is no 'checkpoint-NUMBER'")

    @property
    def names(self) -> list[str]:
        """The names, the newest first."""
        return [self.checkpoint] if self.previous is None else [self.checkpoint, self.previous]


@dataclass(frozen=True)
class Checksums:
    """The contents of `checksums.json`: the checksum of each other file of a checkpoint."""

    files: dict[str, str]

    def __post_init__(self) -> None:
        for name in self.files:
            if name not in (ARRAYS, STATE) and not REPLAY.fullmatch(name):
                raise InputError(f"it names {name[:60]!r}, which is no file of a checkpoint")
        if not {ARRAYS, STATE} < self.files.keys():
            raise InputError(f"it must name {ARRAYS}, {STATE} and a replay buffer")


class Checkpoint(NamedTuple):
    """What a checkpoint holds; the replay buffer stays in its files."""

    folder: Path
    arrays: dict[str, np.ndarray]
    records: Stored
    state: dict[str, Any]


class Checkpoints:
    """The two newest checkpoints of a run: folders that one small file names.

    A new checkpoint is written beside the others, then `latest.json` is moved on, then all but two
    are removed. Each folder has the checksums of its files. So a kill at any moment leaves a whole
    one, and if the newest is damaged, the one before it takes its place.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.pointer = run / POINTER
        self._last: str | None = None  # of the checkpoint that this process saved or loaded

    def save(
        self, name: str, arrays: dict[str, np.ndarray], records: Stored, state: dict[str, Any]
    ) -> None:
        """Save a run.

        Args:
            name: Names the folder, `checkpoint-NAME`; a number.
            arrays: The run's arrays, by name.
            records: The replay buffer's state: `replay.npy`, or several `replay-NAME.npy`.
            state: The rest of the run's state, as JSON.

        Raises:
            InputError: It cannot be written. The last checkpoint is untouched.
        """
        folder = self.run / f"checkpoint-{name}"
        parts = records if isinstance(records, dict) else {"": records}
        size = sum(array.nbytes for array in (*arrays.values(), *parts.values()))
        make_folder(self.run)
        with writing(self.run):
            room = machine.free_disk(self.run)
        if room < 1.01 * size:  # not enough for a third one: the oldest makes room
            self._remove_all_but(self._last)
        remove_folder(folder)
        try:
            new_folder(folder)
            sums = {
                _replay_name(part): _write(folder / _replay_name(part), _npy(array))
                for part, array in parts.items()
            }
            sums[ARRAYS] = _write(folder / ARRAYS, [encode_arrays(arrays, {})])
            sums[STATE] = _write(folder / STATE, [encode_json({"format": FORMAT, **state})])
            write_new(folder / CHECKSUMS, [encode_json({"format": FORMAT, "files": sums})])
            sync_folder(folder)
        except BaseException:
            remove_folder(folder)
            raise
        names = asdict(Pointer(folder.name, self._last))
        write_json(self.pointer, {"format": FORMAT, **names})
        self._remove_all_but(folder.name, self._last)
        self._last = folder.name

    def load(self, warn: Callable[[str], None] = warnings.warn) -> Checkpoint | None:
        """Read the newest whole checkpoint.

        Args:
            warn: Called with a sentence when a newer one is damaged.

        Returns:
            The checkpoint; None if the run never saved one.

        Raises:
            InputError: All are damaged, or another version wrote them.
        """
        names, problems = self._names()
        for name in names:
            try:
                checkpoint = _read(self.run / name)
            except InputError as error:
                problems.append(str(error))
                continue
            if problems:
                warn(f"the run goes on from {self.run / name}, because {'; '.join(problems)}")
            self._last = name
            return checkpoint
        if problems:
            raise InputError(
                f"{self.run} has no checkpoint to go on from, because {'; '.join(problems)}: put a "
                "copy of one in its place, or start the run again with another --out"
            )
        return None

    def _names(self) -> tuple[list[str], list[str]]:
        """The names of the checkpoints, the newest first, and what is wrong with the pointer."""
        problems = []
        if self.pointer.is_symlink() or self.pointer.exists():
            try:
                refuse_link(self.pointer)
                return read_json(self.pointer, Pointer, "the names of checkpoints").names, []
            except InputError as error:
                problems.append(str(error))
        complete = (p.name for p in self._folders() if (p / CHECKSUMS).exists())
        return sorted(complete, key=lambda name: int(name.split("-")[1]), reverse=True), problems

    def remove(self) -> None:
        """Remove every checkpoint of the run."""
        remove_file(self.pointer)
        self._remove_all_but()

    def _remove_all_but(self, *names: str | None) -> None:
        for folder in self._folders():
            if folder.name not in names:
                remove_folder(folder)

    def _folders(self) -> list[Path]:
        return [path for path in self.run.glob("checkpoint-*") if NAME.fullmatch(path.name)]


def _replay_name(part: str) -> str:
    return f"replay-{part}.npy" if part else "replay.npy"


def _write(path: Path, chunks: Iterable[bytes | memoryview]) -> str:
    """Write a file and return its checksum."""
    checksum = Checksum()
    write_new(path, summed(chunks, checksum))
    return checksum.hexdigest()


def _npy(array: np.ndarray) -> Iterator[bytes | memoryview]:
    """The bytes of an array's .npy file, without a copy of the array."""
    array, header = np.ascontiguousarray(array), io.BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    return chunks_of(header.getvalue(), array.reshape(-1).view(np.uint8).data)


def _read(folder: Path) -> Checkpoint:
    """Read a checkpoint, after comparing every file with its checksum."""
    refuse_link(folder)
    refuse_link(folder / CHECKSUMS)
    sums = read_json(folder / CHECKSUMS, Checksums, "a checkpoint's checksums").files
    for name, expected in sums.items():
        if checksum_of(folder / name) != expected:
            raise InputError(f"{folder / name} is damaged (it is not as it was saved)")
    state = read_json(folder / STATE, dict[str, Any], "a checkpoint's state")
    arrays, _ = read_arrays(folder / ARRAYS)
    parts = {m[1] or "": _read_npy(folder / m[0]) for m in map(REPLAY.fullmatch, sums) if m}
    return Checkpoint(folder, arrays, parts.get("", parts), state)


def _read_npy(path: Path) -> np.ndarray:
    """Map an array from its file: a replay buffer may be half as large as the memory."""
    try:
        with open(path, "rb") as file:
            npy.read_magic(file)
            shape, fortran, dtype = npy.read_array_header_1_0(file)
            offset = file.tell()
        size = offset + math.prod(shape) * dtype.itemsize
        if fortran or dtype.hasobject or size != path.stat().st_size:
            raise ValueError(f"{dtype}{list(shape)} does not fit")
        return np.memmap(path, dtype, "r", offset, shape)
    except Exception as error:  # NumPy raises many kinds of errors on a wrong header
        raise InputError(f"{path} is damaged (it is no array: {error})") from error
