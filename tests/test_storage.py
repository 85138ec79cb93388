import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from policy_inertia import storage
from policy_inertia.errors import InputError

TREE: dict[str, Any] = {"layers": [{"w": np.ones((2, 3), np.float32)}, {"w": np.arange(3)}]}


def test_unflatten_inverts_flatten(tmp_path: Path) -> None:
    arrays = storage.flatten(TREE, "policy")
    assert sorted(arrays) == ["policy.layers.0.w", "policy.layers.1.w"]
    tree = storage.unflatten(TREE, arrays, "policy", tmp_path)
    assert np.array_equal(tree["layers"][0]["w"], TREE["layers"][0]["w"])
    assert np.array_equal(tree["layers"][1]["w"], TREE["layers"][1]["w"])


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({"policy.layers.0.w": np.ones((3, 3), np.float32)}, r"float32\[3, 3\]"),
        ({"policy.layers.0.w": np.ones((2, 3))}, r"float64\[2, 3\]"),
        (None, "nothing"),
    ],
)
def test_arrays_of_other_settings_are_refused(
    change: dict[str, np.ndarray] | None, actual: str
) -> None:
    arrays = {} if change is None else storage.flatten(TREE, "policy") | change
    message = rf"file holds {actual} for 'policy.layers.0.w', but float32\[2, 3\] is expected"
    with pytest.raises(InputError, match=message):
        storage.unflatten(TREE, arrays, "policy", Path("file"))


def test_arrays_and_their_description_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    storage.write_arrays(path, {"x": np.arange(6).reshape(2, 3).T}, {"kind": "policy"})
    arrays, about = storage.read_arrays(path)
    assert np.array_equal(arrays["x"], np.arange(6).reshape(2, 3).T)
    assert about == {"kind": "policy"}


def write_with_format(path: Path, number: object) -> None:
    """A JSON file or a safetensors file with this format number."""
    if path.suffix == ".json":
        path.write_text(json.dumps({"format": number}))
    else:
        about = {"policy_inertia": json.dumps({"format": number})}
        path.write_bytes(safetensors.numpy.save({"x": np.zeros(3)}, about))


def read(path: Path) -> None:
    if path.suffix == ".json":
        storage.read_json(path, dict, "a run's description")
    else:
        storage.read_arrays(path)


@pytest.mark.parametrize("name", ["run.json", "policy.safetensors"])
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (
            1,
            "has format 1, which policy-inertia 0.1 wrote: train or save it again with this "
            "version, or use policy-inertia 0.1",
        ),
        (3, "has format 3 and this version reads format 2: upgrade policy-inertia to use it"),
        ("x", "has format x and this version reads format 2: upgrade policy-inertia to use it"),
    ],
)
def test_another_format_is_refused_in_one_sentence(
    tmp_path: Path, name: str, number: object, message: str
) -> None:
    path = tmp_path / name
    write_with_format(path, number)
    with pytest.raises(InputError, match=f"^{re.escape(f'{path} {message}')}$"):
        read(path)


def test_the_current_format_is_2_and_is_read(tmp_path: Path) -> None:
    for name in ("run.json", "policy.safetensors"):
        write_with_format(tmp_path / name, 2)
        read(tmp_path / name)
    assert storage.FORMAT == 2


def test_a_record_with_a_format_of_its_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_with_format(path, 1)
    assert storage.read_json(path, dict, "a record", 1) == {}
    with pytest.raises(InputError, match="has format 1 and this version reads format 0"):
        storage.read_json(path, dict, "a record", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", r"holds \[1\]: expected a run's description, which is a JSON object"),
        ("{}", "is not a run's description of policy-inertia: it has no format number"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 100 + "]" * 100, "nested more than 32 times"),
        ("{", "cannot be read as a run's description"),
    ],
)
def test_other_json_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(InputError, match=r"there is no .*: expected a run's description"):
        storage.read_json(path, dict, "a run's description")
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        storage.read_json(path, dict, "a run's description")


def test_numbers_without_a_json_form_become_none() -> None:
    values = [1.5, 2, "x", float("nan"), float("inf")]
    assert [storage.finite(v) for v in values] == [1.5, 2, "x", None, None]


def test_only_regular_files_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    Path("file").write_bytes(b"12345")
    Path("link").symlink_to("file")
    cases = {
        "pipe": "pipe is a named pipe: give a regular file",
        "folder": "folder is a folder: give a regular file",
        "socket": "socket is a socket: give a regular file",
        "/dev/zero": "/dev/zero is a device: give a regular file",
        "missing": "there is no file missing",
        "file/x": r"'file/x' cannot be opened \(Not a directory\)",
        "loop": r"'loop' cannot be opened \(Too many",
        "x" * 5_000: r"'x{200}' cannot be opened \(File name too long\)",
        "a\0b": r"'a\\x00b' cannot be opened",
    }
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, message in cases.items():
            for read in (storage.regular_file, lambda path: storage.read_file(path, 10)):
                with pytest.raises(InputError, match=f"^{message}"):
                    read(Path(name))
    assert storage.read_file(Path("link"), 5) == b"12345"
    with pytest.raises(InputError, match="file has more than 4 bytes"):
        storage.read_file(Path("file"), 4)
