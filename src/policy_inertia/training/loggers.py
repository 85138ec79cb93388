"""Where the figures of a run go while it trains. A new logger is a class with these methods."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from tensorboardX import SummaryWriter

from policy_inertia.storage import cannot_write, finite

METRICS = "metrics.jsonl"


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

    def __init__(self, run: Path, size: int = 0) -> None:
        """Open the log and cut it to its first `size` bytes: what a checkpoint knows of it."""
        self.path = run / METRICS
        try:
            with open(self.path, "ab") as file:
                file.truncate(size)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self.path.stat().st_size

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        record = {"step": step, **{name: finite(value) for name, value in figures.items()}}
        try:
            with open(self.path, "a") as file:
                file.write(json.dumps(record) + "\n")
                file.flush()
                os.fsync(file.fileno())  # the next checkpoint relies on this line
        except OSError as error:
            raise cannot_write(self.path, error) from error

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
    """The same figures for TensorBoard, under Stable-Baselines3's tags, and the speed."""

    def __init__(self, run: Path, resumed_at: int | None = None) -> None:
        """Open the log; `resumed_at` hides what was logged after that step."""
        try:
            self._writer = SummaryWriter(str(run), purge_step=resumed_at, write_to_disk=True)
        except OSError as error:
            raise cannot_write(run, error) from error

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        times = {"time/total_timesteps": step, "time/fps": speed}
        for name, value in (figures | times).items():
            if finite(value) is not None:
                self._writer.add_scalar(SB3_TAGS.get(name, name), value, step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Read the records of a run so far; a line that is still being written is left out."""
    path = run / METRICS
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]
