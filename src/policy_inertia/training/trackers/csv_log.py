"""`metrics.csv`: the lines of `metrics.jsonl` as a table for spreadsheets and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from policy_inertia.files import append, write_file
from policy_inertia.storage import finite
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.trackers.service import TrackedRun

CSV = "metrics.csv"


class CsvLog:
    """One row for each evaluation, one column for each figure; a cell without a value is empty."""

    def __init__(self, run: TrackedRun) -> None:
        """Write the rows that `metrics.jsonl` has; those of a run that is resumed."""
        self.path = run.folder / CSV
        self._records = read_metrics(run.folder)
        self._columns = list(dict.fromkeys(name for record in self._records for name in record))
        write_file(self.path, self._text(self._columns, self._records))

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        record = {"step": step, **{name: finite(value) for name, value in figures.items()}}
        self._records.append(record)
        new = [name for name in record if name not in self._columns]
        if new:  # the losses come with the first update
            self._columns += new
            write_file(self.path, self._text(self._columns, self._records))
        else:
            append(self.path, self._text([], [record]))

    def close(self) -> None:
        pass

    def _text(self, header: list[str], records: Sequence[dict[str, Any]]) -> bytes:
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, restval="", lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(records)
        return text.getvalue().encode()
