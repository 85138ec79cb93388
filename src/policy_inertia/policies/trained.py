"""Policies that come with the package: trained on the Highway tasks, to be tried at once."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "trained"


def trained_policies() -> dict[str, Path]:
    """The files of the policies that come with the package, by name, such as "two-way"."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.safetensors"))}


def find_trained(path: Path) -> Path:
    """The file of the policy with this name; the path itself if it exists or is no such name."""
    if os.path.exists(path):  # unlike `Path.exists`, it never raises
        return path
    return trained_policies().get(str(path), path)
