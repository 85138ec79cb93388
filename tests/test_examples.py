"""What README and examples/ show must run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {"cartpole.py": "oscillation_ratio", "highway_pictures.py": "wrote highway.png"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_runs(path, tmp_path):
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SAYS[path.name] in done.stdout


def test_readme_shows_the_example_as_it_is():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    code = (ROOT / "examples" / "cartpole.py").read_text().split('"""\n\n', 1)[1]
    assert code in blocks


def test_readme_commands_exist():
    text = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"^policy-inertia (\w+)", text, re.M))
    assert commands >= {"train", "evaluate", "compare"}
    environment = os.environ | {"COLUMNS": "200"}
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "policy_inertia", command, "--help"],
            capture_output=True,
            env=environment,
        )
        assert done.returncode == 0


def test_makefile_targets_that_readme_names_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"make ([\w-]+)", (ROOT / "README.md").read_text())
    assert set(named) <= set(targets)
    assert {"demo", "test"} <= set(named)
