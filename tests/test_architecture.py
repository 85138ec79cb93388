"""The architecture that docs/architecture.md describes is the one that the code has."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import policy_inertia
from policy_inertia.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "policy_inertia"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
FILES = {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}

LONGEST_FUNCTION = 80
LONGEST_FILE = 400
TABLES_OF_DATA: set[str] = set()
"""Files that may be longer, because they hold data and no logic."""
SAME_NAME = {
    "__init__.py": "Python asks for the name",
    "env.py": "the Gymnasium env of its folder",
    "interface.py": "the protocol that the other files of its folder implement",
}
"""File names that may occur twice, and what all files of that name hold. A file in cli/ has the
name of its command, which may be the name of the module that it calls."""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def layers(container: str) -> list[str]:
    """Return the layers that the contract of `container` lists, from the top down."""
    for contract in CONTRACTS["contracts"]:
        if contract["type"] == "layers" and contract["containers"] == [container]:
            assert contract["exhaustive"], f"a new file in {container} could stay without a layer"
            return list(contract["layers"])
    raise AssertionError(f"no contract orders {container}")


def drawn_layers() -> dict[str, list[str]]:
    """Return the layers in the picture of docs/architecture.md, by the package they are in.

    A line that is indented belongs to the last name on the last line that is indented less.
    """
    picture = re.search(r"```text\n(.*?)```", PAGE, re.S)
    assert picture
    drawn: dict[str, list[str]] = {}
    parents: list[tuple[int, str]] = [(-1, "policy_inertia")]
    for line in picture[1].splitlines():
        if not line.strip() or line.lstrip().startswith(("-", "=")):
            continue
        indent = len(line) - len(line.lstrip())
        while parents[-1][0] >= indent:
            parents.pop()
        name = re.split(r"  +", line.strip())[0]
        drawn.setdefault(parents[-1][1], []).append(name)
        parents.append((indent, f"{parents[-1][1]}.{name.split(' | ')[-1]}"))
    return drawn


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Return the modules that a statement imports; of foreign packages only the package."""
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        module = node.module or ""
        paths = {f"{module}.{alias.name}" for alias in node.names}
        names = {path if is_module(path) else module for path in paths}
    else:
        names = {alias.name for alias in node.names}
    return {n if n.startswith("policy_inertia") else n.split(".")[0] for n in names}


def is_module(name: str) -> bool:
    path = ROOT / "src" / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def test_the_picture_shows_the_layers_of_the_contract() -> None:
    drawn = drawn_layers()
    contracts = [c for c in CONTRACTS["contracts"] if c["type"] == "layers"]
    assert set(drawn) == {container for c in contracts for container in c["containers"]}
    for container, names in drawn.items():
        assert names == layers(container), container


def test_no_contract_ignores_an_import() -> None:
    assert not [c["id"] for c in CONTRACTS["contracts"] if c.get("ignore_imports")]


def test_every_import_inside_a_function_is_listed_with_its_reason() -> None:
    section = PAGE.split("## Imports inside functions")[1].split("Some modules are imported")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \|$", section, re.M)
    listed = {(file, name) for file, names, _ in rows for name in re.findall(r"`([^`]+)`", names)}
    assert all(reason.startswith(("optional extra", "start-up time")) for _, _, reason in rows)
    present = {
        (path.as_posix(), name)
        for path, tree in FILES.items()
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(node)
    }
    assert present - listed == set(), "not in the table"
    assert listed - present == set(), "in the table, but not in the code"


def test_every_import_by_name_is_listed_with_its_reason() -> None:
    table = PAGE.split("| File | Imports by name | Reason |\n|---|---|---|\n")[1].split("\n\n")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \|", table, re.M))
    calls = {
        path.as_posix()
        for path, tree in FILES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
    }
    assert calls == listed


def test_functions_are_short() -> None:
    lengths = {
        f"{path}:{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path, tree in FILES.items()
        for function in functions(tree)
    }
    assert {n: size for n, size in lengths.items() if size > LONGEST_FUNCTION} == {}


def test_files_are_short() -> None:
    lengths = {str(path): len((SOURCE / path).read_text().splitlines()) for path in FILES}
    too_long = {name for name, size in lengths.items() if size > LONGEST_FILE}
    assert too_long == TABLES_OF_DATA


def test_a_file_name_has_one_meaning() -> None:
    commands = {f"cli/{name.replace('-', '_')}.py" for name in COMMANDS}
    counts = Counter(path.name for path in FILES if path.as_posix() not in commands)
    assert {name for name, count in counts.items() if count > 1} == set(SAME_NAME)


def test_no_module_hides_a_public_name() -> None:
    """Importing `policy_inertia.x` sets the attribute `x`, so no function may have that name."""
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules & set(policy_inertia.__all__) == set()


def test_only_algorithms_ask_for_the_class_of_a_config() -> None:
    questions = []
    for path, tree in FILES.items():
        if path.parts[0] == "algorithms":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                questions.append((str(path), ast.unparse(node.args[1])))
            if isinstance(node, ast.MatchClass):
                questions.append((str(path), ast.unparse(node.cls)))
    configs = {
        node.name
        for path, tree in FILES.items()
        if path.parts[0] == "algorithms"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Config")
    }
    assert configs
    assert [q for q in questions if set(re.findall(r"\w+", q[1])) & configs] == []


def test_the_folders_of_the_tests_are_those_of_the_source() -> None:
    for path in (ROOT / "tests").rglob("*/"):
        folder = path.relative_to(ROOT / "tests")
        if folder.parts[0] in ("support", "recipes") or path.name == "__pycache__":
            continue
        assert (SOURCE / folder).is_dir(), f"tests/{folder} mirrors nothing"


@pytest.mark.parametrize("name", ["found", "kept", "told", "made", "said"])
def test_no_variable_has_a_name_that_says_nothing(name: str) -> None:
    users = []
    for path, tree in FILES.items():
        for node in ast.walk(tree):
            names = {
                getattr(node, attribute, None)
                for attribute in ("id", "arg", "attr", "name", "asname")
            }
            if name in names:
                users.append(f"{path}:{getattr(node, 'lineno', 0)}")
    assert users == []


WRITING = {"write_text", "write_bytes", "savez", "tofile", "touch", "mkdir", "makedirs", "unlink"}
WRITING |= {"rmdir", "rmtree", "copyfile", "copytree", "rename", "symlink_to", "SummaryWriter"}
OF_NUMPY_AND_OS = {"np.save", "os.open", "os.write", "os.replace", "os.remove", "os.truncate"}
WRITES_ITSELF = {
    "files.py": "the one place",
    "cli/main.py": "/dev/null, when nobody reads the output",
    "envs/highway/upstream/parity.py": "a folder for the recorder, which disappears",
    "envs/highway/upstream/recorder.py": "a script for another Python, in that folder",
}
"""Files that write without files.py, and why."""


def writes(tree: ast.AST) -> Iterator[str]:
    """The calls that change a disk; `savefig` and `save` are given buffers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.split(".")[-1]
            given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
            modes = [x.value for x in given if isinstance(x, ast.Constant)]
            opened = last == "open" and any(re.search("[wax+]", str(mode)) for mode in modes)
            if last in WRITING or name in OF_NUMPY_AND_OS or opened:
                yield name


def test_everything_is_written_by_files() -> None:
    writers = {path.as_posix(): sorted(writes(tree)) for path, tree in FILES.items()}
    assert {path for path, calls in writers.items() if calls} == set(WRITES_ITSELF)
