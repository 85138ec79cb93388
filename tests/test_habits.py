"""The checks that every change runs: the hooks, the workflow and the Makefile agree."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def check_message(message: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "message").write_text(message)
    command = [str(ROOT / ".ci" / "check-commit-message"), str(folder / "message")]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    "message",
    ["Add a task", "x" * 72, "é" * 72, "Add a task\n\nWhy it is there.", "Add\n# a comment"],
)
def test_the_hook_accepts_a_short_subject(message: str, tmp_path: Path) -> None:
    assert check_message(message, tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("x" * 73, "the subject has 73 characters, at most 72 are allowed"),
        ("Add a task\nand a body", "leave the second line of the commit message empty"),
        ("# only a comment", "write a subject"),
    ],
)
def test_the_hook_refuses_other_messages(message: str, reason: str, tmp_path: Path) -> None:
    process = check_message(message, tmp_path)
    assert process.returncode == 1
    assert reason in process.stderr


def test_the_workflow_runs_the_same_checks_on_every_supported_python() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run\n" in workflow
    assert ".ci/check-commit-message" in workflow
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r'"(3\.\d+)"', workflow)
    assert project["requires-python"] == f">={versions[0]}"
    assert versions == ["3.11", "3.12", "3.13"]


def test_the_hooks_run_the_tools_of_make_lint() -> None:
    lint = (ROOT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", lint))
    hooks = set(re.findall(r"\.venv/bin/([\w-]+)", (ROOT / ".pre-commit-config.yaml").read_text()))
    assert tools == hooks == {"ruff", "mypy", "lint-imports"}


def test_one_version_in_all_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\n## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text()
