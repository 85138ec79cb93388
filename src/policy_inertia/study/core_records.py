"""Records of studies around policies of another library: one JSON file for each cell and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.metrics.measures import RETURN, refuse_incomplete
from policy_inertia.storage import read_file, read_json
from policy_inertia.study.core_plan import CoreRun

RECORD = "record.json"
"""The record in a run's own folder."""
LARGEST = 1 << 24


@dataclass(frozen=True)
class CoreRecord:
    """What was measured around one core.

    Attributes:
        config: The settings of the cell, and the seed.
        versions: Versions of this package and of the core's library.
        commit: The commit of the code; None if it is not known.
        cpu_seconds: CPU time of one thread by stage; a stage that was resumed is left out.
        figures: What was measured; its form is that of the cell's measurement.
    """

    config: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    cpu_seconds: dict[str, float]
    figures: dict[str, dict[str, Any]]

    def __post_init__(self) -> None:
        for name in ("core", "random"):
            refuse_incomplete(self.figures.get(name, {}), f"the record's '{name}'", (RETURN,))


def read_core_record(file: Path) -> CoreRecord:
    """Read a record.

    Raises:
        InputError: The file is no record.
    """
    return read_json(file, CoreRecord, "the record of a core")


@dataclass(frozen=True)
class CoreRecords:
    """A folder of records, `CELL/seed-K.json`.

    Args:
        path: The folder; it need not exist.
        writable: Copy the record of every run that finishes into it.
    """

    path: Path
    writable: bool = False

    def file(self, run: CoreRun) -> Path:
        """Return the file of a run's record."""
        return self.path / run.cell.name / f"seed-{run.seed}.json"

    def read(self, run: CoreRun) -> CoreRecord | None:
        """Return the record of a run with the same settings; None if there is none."""
        for file in (run.path / RECORD, self.file(run)):
            if file.exists():
                record = read_core_record(file)
                if record.config == run.config():
                    return record
        return None

    def by_cell(self, runs: Sequence[CoreRun]) -> dict[str, list[CoreRecord]]:
        """Return the records of some runs by the title of their cell; empty cells are left out."""
        records: dict[str, list[CoreRecord]] = {}
        for run in runs:
            record = self.read(run)
            if record is not None:
                records.setdefault(run.cell.title, []).append(record)
        titles = dict.fromkeys(run.cell.title for run in runs)
        return {title: records[title] for title in titles if title in records}

    def write(self, run: CoreRun) -> None:
        """Copy the record of a finished run to this folder, if it is writable."""
        source, file = run.path / RECORD, self.file(run)
        if self.writable and source.exists():
            make_folder(file.parent)
            write_file(file, read_file(source, LARGEST))

    def refuse_others(self, runs: Sequence[CoreRun]) -> None:
        """Raise if the record of a run with other settings would be overwritten."""
        for run in runs:
            files = [run.path / RECORD, *([self.file(run)] if self.writable else [])]
            for file in files:
                if file.exists() and read_core_record(file).config != run.config():
                    raise InputError(
                        f"{file} is the record of a run with other settings: give another folder "
                        f"with {'--out' if file == files[0] else '--records'}"
                    )
