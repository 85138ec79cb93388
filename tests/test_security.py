"""SECURITY.md: every reader that it names exists, and files are opened by those readers only."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import policy_inertia

ROOT = Path(policy_inertia.__file__).parent
PAGE = Path(__file__).parent.parent / "SECURITY.md"
TABLE = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
READERS = sorted({name for line in TABLE for name in re.findall(r"`([\w.]+)`", line.split("|")[2])})

OPENS = {"open", "read_text", "read_bytes", "safe_open", "memmap", "ZipFile", "InferenceSession"}
PARSES = {"json.loads", "json.load", "tomllib.loads", "tomllib.load", "np.load", "torch.load"}
OPENING = {
    "storage.py": "read_file and read_arrays",
    "files.py": "writes; opens folders to sync them",
    "training/checkpoints.py": "replay buffers, mapped",
    "training/checksums.py": "the files of a checkpoint",
    "replay/frames.py": "maps a nameless file of its own",
    "interop/foreign_files.py": "members of zips, with limits",
    "interop/sb3_zip.py": "the zip itself",
    "interop/torch_weights.py": "the zip of the weights, in memory",
    "interop/vec_normalize.py": "the .npz, with limits",
    "interop/onnx_in.py": "onnxruntime, after the checks",
    "drawing/video.py": "a film of our own, and frames in memory",
    "study/report/inspector/element.py": "our own style sheet, and frames in memory",
    "study/report/page.py": "our own style sheet",
    "envs/highway/simulator/jit.py": "our own source, for its digest",
    "envs/highway/upstream/recorder.py": "the request of our own process",
    "machine.py": "facts about the machine",
    "cli/main.py": "the null device",
}
PARSING = {
    "cli/flags.py": "flags",
    "interop/numpy_runtime.py": "a file that users copy; the library reads nothing with it",
    "tuning/train_command.py": "whether a setting of our own looks like JSON",
    "study/run/job.py": "jobs of our own parent process",
    "study/run/workers.py": "outcomes of our own workers",
    "study/run_records.py": "a copy of settings",
    "envs/highway/upstream/recorder.py": "the request of our own process",
    "envs/highway/upstream/parity.py": "arrays of our own recorder",
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_of_the_page_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(f"policy_inertia.{module}"), attribute)


def callers(names: set[str]) -> set[str]:
    """The files of the package that call a function with one of these names."""
    files = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in names or called.rpartition(".")[2] in names:
                    files.add(str(path.relative_to(ROOT)))
    return files


def test_files_are_opened_in_known_places_only() -> None:
    assert callers(OPENS) == set(OPENING)


def test_texts_are_parsed_by_the_schema_only() -> None:
    """`schema.parse` gets its parser as an argument, so no other call is in the package."""
    assert callers(PARSES) == set(PARSING)


def test_nothing_is_unpickled_without_trust() -> None:
    """`pickle` is imported nowhere; Stable-Baselines3 unpickles where `trust=True` says so."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"pickle", "marshal", "shelve", "dill"} & set(names), path
