"""The recipe of CONTRIBUTING.md, followed literally: a study is one file."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study import declared
from policy_inertia.study.declared import find_study, studies
from policy_inertia.study.plan import Study
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run.workers import Workers

MODULE = """
from policy_inertia.study.plan import Experiment, Line, Study, Task

CARTPOLE = Task("CartPole", "CartPole-v1")

STUDY = Study(
    "poles",
    "Do a filter and a learned inertia calm a pole?",
    (
        Experiment(
            "base",
            "DQN and NSAC on CartPole",
            tuple(Line(m.upper(), m, CARTPOLE) for m in ("dqn", "nsac")),
            hysteresis=(0.1,),
        ),
    ),
    seeds=(0, 1),
    settings={"steps": 40_000, "final_episodes": 4},
)
"""

TOML = """
title = "Do a filter and a learned inertia calm a pole?"
seeds = 2
steps = 40_000
final_episodes = 4
hysteresis = [0.1]
[methods.DQN]
method = "dqn"
[methods.NSAC]
method = "nsac"
[tasks.CartPole]
env = "CartPole-v1"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One file more in the folder of the declared studies, and no other change."""
    (tmp_path / "poles.py").write_text(MODULE)
    monkeypatch.setattr(declared, "__path__", [*declared.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield
    sys.modules.pop(f"{declared.__name__}.poles", None)
    vars(declared).pop("poles", None)


def check_plan(study: Study) -> None:
    """The dry plan: two methods, two seeds, 40,000 steps, one threshold of the filter."""
    runs = study.runs(Path("out"))
    assert [(r.label, r.config.steps, r.hysteresis) for r in runs] == [
        ("CartPole, DQN, seed 0", 40_000, (0.1,)),
        ("CartPole, NSAC, seed 0", 40_000, (0.1,)),
        ("CartPole, DQN, seed 1", 40_000, (0.1,)),
        ("CartPole, NSAC, seed 1", 40_000, (0.1,)),
    ]


def check_run(study: Study, out: Path) -> None:
    """The study, a hundredth as long, runs to its end."""
    results = run_study(study.scaled(0.01), out, Workers(1))
    assert results.failed == []
    assert [(x.label, x.seeds) for x in results.experiments[0].lines] == [
        ("DQN", [0, 1]),
        ("NSAC", [0, 1]),
    ]


@pytest.mark.usefixtures("module")
def test_a_file_in_the_folder_is_a_study(tmp_path: Path) -> None:
    assert set(studies()) == {"frontier", "paper", "poles"}
    study = find_study("poles")
    check_plan(study)
    check_run(study, tmp_path / "out")


def test_a_toml_file_anywhere_is_a_study(tmp_path: Path) -> None:
    (tmp_path / "poles.toml").write_text(TOML)
    study = find_study(str(tmp_path / "poles.toml"))
    assert study.name == "poles"
    check_plan(study)
    check_run(study, tmp_path / "out")


def test_without_its_file_a_study_is_unknown() -> None:
    assert set(studies()) == {"frontier", "paper"}
    with pytest.raises(InputError, match="no study has this name"):
        find_study("poles")
