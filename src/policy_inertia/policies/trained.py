"""Policies that come with the package: trained on the Highway tasks, to be tried at once."""

from __future__ import annotations

import os
from pathlib import Path

from policy_inertia.errors import InputError, nearest

FOLDER = Path(__file__).parents[1] / "trained"


def trained_policies() -> dict[str, Path]:
    """The files of the policies that come with the package, by name, such as "two-way"."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.safetensors"))}


def find_trained(path: Path) -> Path:
    """The file of the policy with this name; the path itself if it exists or is no name.

    Raises:
        InputError: It could be a name, and no policy has it.
    """
    longest = 100  # of a name; the reader of files says what is wrong with a longer one
    if os.path.exists(path) or path.suffix or path.parent != Path() or len(str(path)) > longest:
        return path
    known = trained_policies()
    if str(path) not in known:
        raise InputError(
            f"there is no file {path}, and no policy of that name comes with the package"
            f"{nearest(str(path), known)}"
        )
    return known[str(path)]
