"""Where the figures of a run go while it trains. A new logger is a class with these methods."""

from __future__ import annotations

import json
import socket
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from policy_inertia.files import append, refuse_link, write_file, write_new, writing
from policy_inertia.schema import parse_object, read_as
from policy_inertia.storage import finite, read_file
from policy_inertia.training.event_file import scalar_record, start_record, version_record

METRICS = "metrics.jsonl"
LARGEST = 2**28
"""Most bytes of a `metrics.jsonl` that is read: some 300,000 evaluations."""
EVENTS = "events.out.tfevents."
"""How the names of TensorBoard's files begin; ten digits of seconds follow."""


class Logger(Protocol):
    """Takes the figures of every evaluation."""

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        """Record the figures at a step.

        Args:
            step: Env steps so far.
            figures: Numbers by name, such as `eval/return`; None or NaN where undefined.
            speed: Env steps per second.
        """

    def close(self) -> None:
        """Finish what is not yet written."""


class JsonLines:
    """`metrics.jsonl`: one line for each evaluation.

    It has no clock in it, so two runs of one seed write the same bytes.
    """

    def __init__(
        self, run: Path, size: int = 0, warn: Callable[[str], None] = warnings.warn
    ) -> None:
        """Open the log and cut it to its first `size` bytes: what a checkpoint knows of it.

        If the file is shorter, its whole lines stay, and `warn` gets a sentence.
        """
        self.path = run / METRICS
        refuse_link(self.path)
        known = size > 0 and self.path.exists()
        lines = read_file(self.path, LARGEST)[:size] if known else b""
        if len(lines) < size:
            warn(
                f"{self.path} has {len(lines)} of the {size} bytes that the checkpoint knows: the "
                "run goes on, but the lines that are gone stay gone"
            )
            lines = lines[: lines.rfind(b"\n") + 1]
        write_file(self.path, lines)  # a new file: what others may have put there is not written

    @property
    def size(self) -> int:
        """Bytes written so far."""
        with writing(self.path):
            return self.path.stat().st_size

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        record = {"step": step, **{name: finite(value) for name, value in figures.items()}}
        append(self.path, (json.dumps(record) + "\n").encode())  # the next checkpoint relies on it

    def close(self) -> None:
        pass


SB3_TAGS = {
    "eval/return": "eval/mean_reward",
    "eval/return_std": "eval/std_reward",
    "eval/length": "eval/mean_ep_length",
    "rollout/return": "rollout/ep_rew_mean",
    "rollout/length": "rollout/ep_len_mean",
    "rollout/epsilon": "rollout/exploration_rate",
    "train/updates": "train/n_updates",
}
"""TensorBoard's tags where Stable-Baselines3 has a name for the same figure."""


class TensorBoard:
    """The same figures for TensorBoard, under Stable-Baselines3's tags, and the speed.

    Records are written at once, so that a full disk ends the run in one sentence.
    """

    def __init__(self, run: Path, resumed_at: int | None = None) -> None:
        """Open the log; `resumed_at` hides what was logged after that step."""
        data = version_record()
        if resumed_at is not None:
            data += start_record(resumed_at + 1)
        # TensorBoard reads a run's files in the order of their names: the last must be the newest
        seconds = max([int(time.time()), *(s + 1 for s in _seconds(run))])
        self.path = run / f"{EVENTS}{seconds:010d}.{socket.gethostname()}"
        write_new(self.path, [data])

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        times = {"time/total_timesteps": step, "time/fps": speed}
        values = {k: v for k, v in (figures | times).items() if finite(v) is not None}
        records = (scalar_record(step, SB3_TAGS.get(name, name), x) for name, x in values.items())
        append(self.path, b"".join(records))

    def close(self) -> None:
        pass


def _seconds(run: Path) -> list[int]:
    """When the event files of a run were begun."""
    names = (path.name.removeprefix(EVENTS)[:10] for path in run.glob(f"{EVENTS}*"))
    return [int(name) for name in names if name.isdecimal()]


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Read the records of a run so far; a line that is still being written is left out.

    Raises:
        InputError: The file cannot be read, or a line is damaged; the sentence has its number.
    """
    path = run / METRICS
    if not path.exists():
        return []
    lines = read_file(path, LARGEST).split(b"\n")[:-1]
    return [_read_line(line, f"{path}, line {i}") for i, line in enumerate(lines, 1)]


def _read_line(line: bytes, where: str) -> dict[str, Any]:
    record = parse_object(line, where, "the figures of an evaluation")
    step = record.get("step")
    if type(step) is int and 0 <= step < 2**63 and all(map(_is_figure, record.values())):
        return record  # a study reads many lines, and the schema takes five times as long
    read_as(_Step, {"step": record.get("step")}, where)
    return read_as(dict[str, float | None], record, where)


def _is_figure(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and -1e300 < value < 1e300)


@dataclass(frozen=True)
class _Step:
    """The one key that every line of `metrics.jsonl` has."""

    step: int
