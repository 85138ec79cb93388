"""Follow a recipe of CONTRIBUTING.md literally: run its code as if it stood in the files."""

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
Registry = dict[str, Any]
Follow = Callable[..., dict[str, Any]]


def blocks(recipe: str) -> list[tuple[str, str]]:
    """Return the file and the code of each Python block under a heading of CONTRIBUTING.md.

    The first line of a block is a comment that names its file.
    """
    page = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(rf"^### {re.escape(recipe)}$(.*?)(?=^##|\Z)", page, re.M | re.S)
    assert section, f"CONTRIBUTING.md has no recipe '{recipe}'"
    code = re.findall(r"```python\n# (\S+)\n(.*?)```", section[1], re.S)
    assert code, f"the recipe '{recipe}' has no code"
    return code


def module_name(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def add_file(path: str, code: str, folder: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """Import `code` from a temporary file under the name that it would have in the package."""
    name = module_name(path)
    file = folder / Path(path).name
    file.write_text(code)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    parent, _, own = name.rpartition(".")
    if parent:
        patch.setattr(importlib.import_module(parent), own, module, raising=False)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Follow]:
    """`follow(recipe, *registries)` runs a recipe and returns the names that it defines.

    A block for a file that exists runs as if it stood at the end of that file. A block for another
    file becomes a new module. The registries lose their new rows after the test.
    """
    before: list[tuple[Registry, Registry]] = []

    def run(recipe: str, *registries: Registry) -> dict[str, Any]:
        before.extend((registry, dict(registry)) for registry in registries)
        names: dict[str, Any] = {}
        for path, code in blocks(recipe):
            if (ROOT / path).exists():
                space = dict(vars(importlib.import_module(module_name(path))))
                exec(compile(code, path, "exec"), space)
                names |= space
            else:
                names |= vars(add_file(path, code, tmp_path, monkeypatch))
        return names

    yield run
    for registry, rows in before:
        registry.clear()
        registry.update(rows)
