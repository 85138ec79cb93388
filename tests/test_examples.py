"""The code of README and of examples/ runs as it stands there."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OUTPUT = {
    "before_and_after.py": "wrote before-and-after.gif",
    "cartpole.py": "oscillation_ratio",
    "highway_pictures.py": "wrote highway.png",
}
BRIEF = ["--core-steps", "1500", "--steps", "600", "--episodes", "4"]
ARGUMENTS = {"before_and_after.py": BRIEF}


def run(arguments: list[str], folder: Path) -> str:
    """Run Python in a folder and return what it prints."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    process = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    arguments = ARGUMENTS.get(path.name, [])
    assert OUTPUT[path.name] in run([str(path), *arguments], tmp_path)


def test_readme_code_makes_a_policy_smooth_and_trains_one(
    tmp_path: Path, make_model: Callable[..., Any]
) -> None:
    model = make_model("PPO", "CartPole-v1", n_steps=256)
    model.learn(8_192).save(tmp_path / "jittery.zip")
    smooth, train = re.findall(r"```python\n(.*?)```", README, re.S)
    text = run(["-c", smooth], tmp_path)
    assert "Recommended: " in text
    assert (tmp_path / "smooth.safetensors").exists()
    text = run(["-c", train], tmp_path)
    ratio = re.search(r"'oscillation_ratio': ([\d.]+)", text)
    assert ratio
    assert float(ratio[1]) < 0.35  # the budget, measured on other episodes


def test_readme_figures_of_the_dial_are_in_the_study_of_limits() -> None:
    study = (ROOT / "docs" / "limits.md").read_text()
    table = README.split("|---|---|---|\n")[1].split("\n\n")[0]
    figures = re.findall(r"[\d.]+ ± [\d.]+ / [\d.]+", table)
    assert len(figures) == 10
    assert [figure for figure in figures if figure not in study] == []


def shown_commands() -> list[list[str]]:
    """Return the words of every `policy-inertia` command in README and the docs."""
    text = "\n".join(page.read_text() for page in PAGES).replace("\\\n", " ")
    lines = re.findall(r"^ *policy-inertia ([^#\n]+)", text, re.M)
    return [line.split() for line in sorted(set(lines))]


def test_commands_that_the_docs_show_exist() -> None:
    names = {words[0] for words in shown_commands()}
    assert names >= {"train", "evaluate", "compare", "smooth"}
    assert names <= {*COMMANDS, "--help"}


@pytest.mark.parametrize("words", shown_commands(), ids=" ".join)
def test_flags_that_the_docs_show_exist(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    name, *args = words
    with pytest.raises(SystemExit):
        COMMANDS[name].parse([*args, "--help"])
    page = capsys.readouterr().out
    for flag in (word for word in args if word.startswith("--")):
        assert f" {flag} " in page


def test_makefile_targets_that_the_docs_name_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        commands = re.findall(r"(?:`|^ {4})make ([\w-]+)", page.read_text(), re.M)
        assert set(commands) <= targets, page.name
    assert {"demo", "test"} <= set(re.findall(r"^make ([\w-]+)", README, re.M))
