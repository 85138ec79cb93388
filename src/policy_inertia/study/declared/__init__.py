"""The studies that come with the library, by name."""

from __future__ import annotations

from pathlib import Path

from policy_inertia.errors import InputError, nearest
from policy_inertia.study.declared.frontier import FRONTIER
from policy_inertia.study.declared.paper import PAPER
from policy_inertia.study.plan import Study
from policy_inertia.study.toml import load_study

STUDIES = {"paper": PAPER, "frontier": FRONTIER}


def find_study(name: str) -> Study:
    """A study of ours by its name, or one from a TOML file."""
    if name in STUDIES:
        return STUDIES[name]
    if Path(name).suffix == ".toml" or Path(name).exists():
        return load_study(Path(name))
    raise InputError(f"'{name}' is no TOML file, and we have no such study{nearest(name, STUDIES)}")
