"""The recipe for a study, followed literally: one file, in Python or in TOML."""

import re
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
from tests.support.recipes import ROOT, blocks

OURS = {
    "atari-proof",
    "control",
    "filters",
    "frontier",
    "limit",
    "limit-lander",
    "limit-two-way",
    "minatar",
    "paper",
    "transfer",
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the recipe's file into the folder of the declared studies; nothing else changes."""
    ((path, code),) = blocks("A study")
    assert path == "src/policy_inertia/study/declared/poles.py"
    (tmp_path / "poles.py").write_text(code)
    monkeypatch.setattr(declared, "__path__", [*declared.__path__, str(tmp_path)])
    yield
    sys.modules.pop(f"{declared.__name__}.poles", None)
    vars(declared).pop("poles", None)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    """Write the recipe's TOML file."""
    text = re.search(r"```toml\n# (\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    assert text
    path = tmp_path / text[1]
    path.write_text(text[2])
    return path


def check_plan(study: Study) -> None:
    """The study plans two methods with two seeds, 40,000 steps and one threshold of the filter."""
    runs = study.runs(Path("out"))
    assert [(r.label, r.config.steps, r.hysteresis) for r in runs] == [
        ("CartPole, DQN, seed 0", 40_000, (0.1,)),
        ("CartPole, NSAC, seed 0", 40_000, (0.1,)),
        ("CartPole, DQN, seed 1", 40_000, (0.1,)),
        ("CartPole, NSAC, seed 1", 40_000, (0.1,)),
    ]


def check_run(study: Study, out: Path) -> None:
    """The study runs to its end, at a hundredth of its length."""
    results = run_study(study.scaled(0.01), out, Workers(1))
    assert results.failed == []
    assert [(x.label, x.seeds) for x in results.experiments[0].lines] == [
        ("DQN", [0, 1]),
        ("NSAC", [0, 1]),
    ]


@pytest.mark.usefixtures("module")
def test_a_file_in_the_folder_is_a_study(tmp_path: Path) -> None:
    assert set(studies()) == OURS | {"poles"}
    study = find_study("poles")
    assert isinstance(study, Study)
    check_plan(study)
    check_run(study, tmp_path / "out")


def test_a_toml_file_anywhere_is_a_study(toml: Path, tmp_path: Path) -> None:
    study = find_study(str(toml))
    assert isinstance(study, Study)
    assert study.name == "poles"
    check_plan(study)
    check_run(study, tmp_path / "out")


def test_without_its_file_a_study_is_unknown() -> None:
    assert set(studies()) == OURS
    with pytest.raises(InputError, match="no study has this name"):
        find_study("poles")
