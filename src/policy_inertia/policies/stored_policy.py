"""A policy from its file, whatever kind of actions it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policy_inertia.origin import from_file, trusted
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.continuous_file import KIND
from policy_inertia.policies.policy import Policy
from policy_inertia.schema import read_as
from policy_inertia.storage import read_arrays

READERS: dict[str, Any] = {"policy": Policy.load, KIND: ContinuousCore.load}
"""By the kind that a file names."""


def load_stored(path: Path, core: Any = None, trust: bool = False) -> Any:
    """Return the policy in a file or a run folder.

    Args:
        path: A policy file, or a folder with a `policy.safetensors`.
        core: The policy of others that it is about, where the file could not hold it.
        trust: Whether the file may run code; see `Policy.load`.

    Returns:
        A `Policy`; a `ContinuousCore` if its actions are continuous.

    Raises:
        InputError: The file cannot be read.
    """
    _, about = read_arrays(_file(path))
    load = READERS.get(str(about.get("kind")), Policy.load)  # which refuses other kinds
    return load(path, core, trust)


def stored_task(path: Path, trust: bool = False) -> tuple[str | None, dict[str, Any]]:
    """Return the env that a policy's file names, and its arguments; see `load_stored`."""
    _, values = read_arrays(_file(path))
    about = trusted(values) if trust else from_file(values, path)
    named = read_as(_Task, {k: v for k, v in about.items() if k in ("task", "env_kwargs")}, path)
    return named.task or None, named.env_kwargs


@dataclass(frozen=True)
class _Task:
    task: str = ""
    env_kwargs: dict[str, Any] = field(default_factory=dict)


def _file(path: Path) -> Path:
    return path / "policy.safetensors" if path.is_dir() else path
