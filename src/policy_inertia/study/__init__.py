"""Studies: many runs as data, carried out anywhere, and what they found."""

from __future__ import annotations

from pathlib import Path

from ..types import InputError, nearest
from .folder import collect
from .frontier import FRONTIER
from .paper import PAPER
from .plan import Experiment, Line, Study, Task
from .results import Results, Series
from .runner import Workers, run_study
from .toml import load_study, study_from_dict

STUDIES = {"paper": PAPER, "frontier": FRONTIER}

__all__ = [
    "STUDIES",
    "Experiment",
    "Line",
    "Results",
    "Series",
    "Study",
    "Task",
    "Workers",
    "collect",
    "find_study",
    "load_study",
    "run_study",
    "study_from_dict",
]


def find_study(name: str) -> Study:
    """A study of ours by its name, or one from a TOML file."""
    if name in STUDIES:
        return STUDIES[name]
    if Path(name).suffix == ".toml" or Path(name).exists():
        return load_study(Path(name))
    raise InputError(f"'{name}' is no TOML file, and we have no such study{nearest(name, STUDIES)}")
