"""A run's folder: what was asked for, what came of it, and all it takes to go on after a kill."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter

from policy_inertia.errors import InputError
from policy_inertia.machine import commit, versions
from policy_inertia.storage import FORMAT, cannot_write, claim, finite, read_json, write_json
from policy_inertia.training.checkpoints import Checkpoints


class RunFolder:
    """One run on disk.

    run.json          the configuration, the versions and the commit
    metrics.jsonl     one line for each evaluation; no clock in it, so it is reproducible
    events.*          the same and the speed, for TensorBoard, with SB3's tags
    checkpoint-*/     the latest checkpoint, which latest.json points to
    best.safetensors, policy.safetensors   the best policy so far, and the last
    result.json       the final evaluation
    """

    def __init__(self, path: Path, config: dict[str, Any], resume: bool) -> None:
        self.path = path
        about = path / "run.json"
        if about.exists() and not resume:
            raise InputError(
                f"{path} holds a run already: add --resume to go on with it, or choose "
                "another --out"
            )
        self._lock = claim(path, about.name, "run")
        old = read_json(about, "a run's description") if about.exists() else {}
        if old:
            refuse_other(path, old["config"], config)
        now = versions()
        self.changed = [
            f"{name} {then} -> {now.get(name)}"
            for name, then in old.get("versions", {}).items()
            if now.get(name) != then
        ]
        write_json(about, {"format": FORMAT, "config": config, "versions": now, "commit": commit()})
        self.checkpoints = Checkpoints(path)
        self._metrics = path / "metrics.jsonl"
        self._writer: SummaryWriter | None = None

    def rewind(self, size: int, step: int | None) -> None:
        """Forget what was logged after the checkpoint from which the run goes on."""
        try:
            with open(self._metrics, "ab") as file:
                file.truncate(size)
            self._writer = SummaryWriter(str(self.path), purge_step=step, write_to_disk=True)
        except OSError as error:
            raise cannot_write(self._metrics, error) from error

    @property
    def metrics_size(self) -> int:
        return self._metrics.stat().st_size

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        """Append one record; `speed` (steps per second) goes to TensorBoard alone."""
        record = {"step": step, **{k: finite(v) for k, v in figures.items()}}
        try:
            with open(self._metrics, "a") as file:
                file.write(json.dumps(record) + "\n")
                file.flush()
                os.fsync(file.fileno())  # a checkpoint counts on what was logged before it
        except OSError as error:
            raise cannot_write(self._metrics, error) from error
        assert self._writer is not None, "rewind() opens the log"
        for tag, value in (*figures.items(), ("time/fps", speed)):
            if finite(value) is not None:
                self._writer.add_scalar(tag, value, step)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._lock.close()


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The records of a run so far; a last line that is still being written is left out."""
    path = run / "metrics.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def refuse_other(path: Path, old: dict[str, Any], new: dict[str, Any], at: str = "") -> None:
    """A run goes on only with its own settings; how long and how often it saves may change."""
    for name in sorted(old.keys() | new.keys()):
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            refuse_other(path, old[name], new[name], f"{at}{name}.")
        elif name not in FREE and json.dumps(old.get(name)) != json.dumps(new.get(name)):
            raise InputError(
                f"{path} was started with {at}{name}={old.get(name)}, not {new.get(name)}: "
                "resume with its own settings, or choose another --out"
            )


FREE = ("steps", "checkpoint_seconds", "calibration_episodes")
