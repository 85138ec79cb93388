"""What the cache of compiled code depends on."""

import ast
from pathlib import Path

import pytest

from policy_inertia.envs.highway import TASKS
from policy_inertia.envs.highway.simulator import jit

SIMULATOR = "policy_inertia.envs.highway.simulator"
# no compiled code, and no number that compiled code reads
PLAIN = {"policy_inertia.errors", "policy_inertia.envs.highway.config_checks"}


def imported(file: Path) -> set[str]:
    """Return the modules of ours that a file imports from."""
    nodes = ast.walk(ast.parse(file.read_text()))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {module for module in modules if module.startswith("policy_inertia")}


@pytest.mark.parametrize("name", TASKS)
def test_compiled_code_uses_only_sources_that_its_cache_depends_on(name: str) -> None:
    simulator = set(Path(jit.__file__).parent.glob("*.py"))
    for file in simulator | TASKS[name].files:
        assert all(m in PLAIN or m.startswith(SIMULATOR) for m in imported(file)), file


def test_a_digest_changes_with_each_source(tmp_path: Path) -> None:
    task = tmp_path / "task.py"
    task.write_text("1")
    before = jit.source_digest([task])
    assert jit.source_digest([task]) == before
    task.write_text("2")
    assert len({before, jit.source_digest([task]), jit.source_digest([])}) == 3
