"""A run's folder: its settings, its results, and everything to go on after a kill."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import claim, remove_temporary_files
from policy_inertia.machine import commit, versions
from policy_inertia.storage import FORMAT, read_json, write_json
from policy_inertia.training.checkpoints import Checkpoints

CHANGEABLE = ("steps", "checkpoint_seconds", "calibration_episodes")
"""Settings that may change when a run is resumed."""


@dataclass(frozen=True)
class RunDescription:
    """The contents of `run.json`."""

    config: dict[str, Any]
    versions: dict[str, str]
    commit: str | None = None


def read_description(run: Path) -> RunDescription:
    """Read the `run.json` of a run folder."""
    return read_json(run / "run.json", RunDescription, "a run's description")


class RunFolder:
    """One run on disk.

    run.json          the settings, the versions and the commit
    metrics.jsonl     one line for each evaluation
    events.*          the same for TensorBoard
    checkpoint-*/     the two newest checkpoints, which latest.json names
    best.safetensors, policy.safetensors   the best policy so far, and the last
    evaluated-*.safetensors                the policies of all evaluations, for `smooth` only
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
        remove_temporary_files(path)
        old = read_description(path) if about.exists() else RunDescription(config, {})
        refuse_other(path, old.config, config)
        now = versions()
        self.changed_versions = [
            f"{name} {then} -> {now.get(name)}"
            for name, then in old.versions.items()
            if now.get(name) != then
        ]
        write_json(about, {"format": FORMAT, "config": config, "versions": now, "commit": commit()})
        self.checkpoints = Checkpoints(path)

    def close(self) -> None:
        """Give the folder free for other processes."""
        self._lock.close()


def evaluated_policy(run: Path, step: int) -> Path:
    """The file of the policy that was evaluated at a step."""
    return run / f"evaluated-{step}.safetensors"


def evaluated_policies(run: Path) -> dict[int, Path]:
    """The files of the policies that were evaluated in training, by step, without the first."""
    files = {int(file.stem.split("-")[1]): file for file in run.glob("evaluated-*.safetensors")}
    return {step: files[step] for step in sorted(files) if step > 0}


def refuse_other(path: Path, old: dict[str, Any], new: dict[str, Any], at: str = "") -> None:
    """Raise if a run would go on with settings that are not its own."""
    for name in sorted(old.keys() | new.keys()):
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            refuse_other(path, old[name], new[name], f"{at}{name}.")
        elif name not in CHANGEABLE and json.dumps(old.get(name)) != json.dumps(new.get(name)):
            raise InputError(
                f"{path} was started with {at}{name}={old.get(name)}, not {new.get(name)}: "
                "resume with its own settings, or choose another --out"
            )
