"""The checks that every change runs: the hooks, the workflow and the Makefile agree."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
assert _spec
assert _spec.loader
hatch_build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hatch_build)


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


def test_the_checks_end_with_a_stranger_who_follows_the_docs() -> None:
    assert (ROOT / ".ci" / "run").read_text().endswith("\nmake stranger\n")
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/python .ci/stranger\n" in makefile


def test_a_release_waits_for_the_stranger_on_every_python_and_needs_no_password() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    classifiers = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if "Python :: 3." in c]
    assert re.findall(r"3\.\d+", matrix) == classifiers == ["3.11", "3.12", "3.13", "3.14"]
    assert "needs: [build, stranger]" in workflow
    assert "id-token: write" in workflow
    assert "secrets." not in workflow


def test_the_metadata_leads_to_the_repository_only_if_there_is_one() -> None:
    text = "[a](docs/x.md#y) ![b](docs/b.png) [c](https://c.example) [d](#d)"
    assert hatch_build.absolute_links(text, "") == text
    address = "https://example.com/x"
    assert hatch_build.absolute_links(text, address) == (
        f"[a]({address}/blob/main/docs/x.md#y) ![b]({address}/raw/main/docs/b.png) "
        "[c](https://c.example) [d](#d)"
    )
    assert set(hatch_build.project_urls("")) == {"Paper"}
    urls = hatch_build.project_urls(address)
    assert set(urls) == {"Homepage", "Documentation", "Changelog", "Issues", "Paper"}


def test_one_version_in_all_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\n## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text()
