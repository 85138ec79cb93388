"""What the cache of compiled code depends on."""

import ast
from pathlib import Path

from policy_inertia.envs.highway.simulator import jit


def test_compiled_code_imports_nothing_that_its_cache_does_not_know() -> None:
    folder = Path(jit.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    assert modules > jit._AROUND
    for name in modules - jit._AROUND:
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                used = {node.module} if node.module else {alias.name for alias in node.names}
                assert not used & jit._AROUND, (name, used)
