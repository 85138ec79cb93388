"""The code and the commands that README and examples/ show run as printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from policy_inertia.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OUTPUT = {"cartpole.py": "oscillation_ratio", "highway_pictures.py": "wrote highway.png"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert OUTPUT[path.name] in done.stdout


def test_readme_shows_the_example_as_it_is() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    code = (ROOT / "examples" / "cartpole.py").read_text().split('"""\n\n', 1)[1]
    assert code in blocks


def shown_commands() -> list[list[str]]:
    """The words of every `policy-inertia` command in README and docs/running.md."""
    text = README + (ROOT / "docs" / "running.md").read_text()
    lines = re.findall(r"^ *policy-inertia ([^#\n]+)", text, re.M)
    return [line.split() for line in lines]


def test_commands_that_the_docs_show_exist() -> None:
    names = {words[0] for words in shown_commands()}
    assert names >= {"train", "evaluate", "compare"}
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


def test_makefile_targets_that_readme_names_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"make ([\w-]+)", README)
    assert set(named) <= set(targets)
    assert {"demo", "test"} <= set(named)
