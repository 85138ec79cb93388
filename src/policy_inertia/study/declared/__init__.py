"""The studies that come with the library. A study is one file of this folder with a `STUDY`.

To add a study, add a file that defines `STUDY`: a `Study`, or a `CoreStudy` if another library
trains the policies. Its name is the study's name. A study of your own can also be a TOML file
anywhere; docs/studies.md describes both.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.study.core_plan import CoreStudy
from policy_inertia.study.plan import Study
from policy_inertia.study.toml import load_study


def studies() -> dict[str, Study | CoreStudy]:
    """Return the studies of this folder by name, in the order of their files."""
    modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)]
    return {m.STUDY.name: m.STUDY for m in modules if hasattr(m, "STUDY")}


def known_envs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the env and its arguments in evaluation, by the name that studies give to the task."""
    lines = [x for s in studies().values() if isinstance(s, Study) for _, x in s.lines()]
    configs = {line.task.name: line.config({}, 0) for line in lines}
    return {name: (config.env, config.test_kwargs) for name, config in configs.items()}


def find_study(name: str) -> Study | CoreStudy:
    """Return a study by its name, or read it from a TOML file."""
    known = studies()
    if name in known:
        return known[name]
    if Path(name).suffix == ".toml" or Path(name).exists():
        return load_study(Path(name))
    raise InputError(f"'{name}' is no TOML file, and no study has this name{nearest(name, known)}")
