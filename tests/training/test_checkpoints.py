"""Checkpoints that are damaged, forged, or cannot be written."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, machine, train
from policy_inertia.training.checkpoints import Checkpoints
from tests.support.full_disk import enlarge, largest_file, small_disk
from tests.support.runs import SHORT, contents, copy_of, flip_bit, newest, resume, seal

RECORDS = np.arange(1_000, dtype=np.int32)


def save(checkpoints: Checkpoints, step: int, records: Any = RECORDS) -> None:
    checkpoints.save(str(step), {"x": np.array([step])}, records, {"step": step})


def step_of(checkpoints: Checkpoints) -> int:
    """The step of the checkpoint that is loaded; a warning is an error."""
    checkpoint = checkpoints.load(lambda text: pytest.fail(text))
    assert checkpoint is not None
    assert checkpoint.arrays["x"].tolist() == [checkpoint.state["step"]]
    assert isinstance(checkpoint.records, np.ndarray)
    np.testing.assert_array_equal(checkpoint.records, RECORDS)
    return int(checkpoint.state["step"])


def folders(run: Path) -> list[str]:
    return sorted(path.name for path in run.glob("checkpoint-*"))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A run folder with the checkpoints 1 and 2."""
    checkpoints = Checkpoints(tmp_path)
    for step in (0, 1, 2):
        save(checkpoints, step)
    return tmp_path


# two of them --------------------------------------------------------------------------------------


def test_two_newest_checkpoints_are_there(two: Path) -> None:
    assert folders(two) == ["checkpoint-1", "checkpoint-2"]
    pointer = json.loads((two / "latest.json").read_text())
    assert pointer == {"format": 2, "checkpoint": "checkpoint-2", "previous": "checkpoint-1"}
    assert step_of(Checkpoints(two)) == 2


def test_run_without_a_checkpoint_has_none(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path).load() is None
    (tmp_path / "checkpoint-5").mkdir()  # killed while the first one was written
    (tmp_path / "checkpoint-5" / "replay.npy").touch()
    assert Checkpoints(tmp_path).load() is None


def test_other_folders_are_never_removed(two: Path) -> None:
    for name in ("checkpoint-mine", "checkpoint-2-copy", "checkpoints"):
        (two / name).mkdir()
    checkpoints = Checkpoints(two)
    step_of(checkpoints)
    save(checkpoints, 3)
    assert folders(two) == ["checkpoint-2", "checkpoint-2-copy", "checkpoint-3", "checkpoint-mine"]
    checkpoints.remove()
    assert folders(two) == ["checkpoint-2-copy", "checkpoint-mine"]
    assert not (two / "latest.json").exists()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def to_link(path: Path) -> None:
    moved = path.with_name("elsewhere")
    path.rename(moved)
    path.symlink_to(moved)


HARMS: list[Callable[[Path], None]] = [flip_bit, cut, os.remove, to_link]
FILES = ["replay.npy", "state.safetensors", "state.json", "checksums.json"]


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", FILES)
def test_older_checkpoint_takes_the_place_of_a_damaged_one(
    two: Path, harm: Callable[[Path], None], name: str
) -> None:
    harm(two / "checkpoint-2" / name)
    warnings: list[str] = []
    checkpoints = Checkpoints(two)
    checkpoint = checkpoints.load(warnings.append)
    assert checkpoint is not None
    assert checkpoint.state["step"] == 1
    (warning,) = warnings
    assert f"the run goes on from {two / 'checkpoint-1'}, because" in warning
    assert str(two / "checkpoint-2") in warning
    save(checkpoints, 3)
    assert folders(two) == ["checkpoint-1", "checkpoint-3"]  # the damaged one is gone
    assert step_of(Checkpoints(two)) == 3


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", FILES)
def test_two_damaged_checkpoints_are_refused_in_one_sentence(
    two: Path, harm: Callable[[Path], None], name: str
) -> None:
    for folder in folders(two):
        harm(two / folder / name)
    with pytest.raises(InputError, match="has no checkpoint to go on from, because") as error:
        Checkpoints(two).load()
    assert "\n" not in str(error.value)
    assert folders(two) == ["checkpoint-1", "checkpoint-2"]  # somebody may want to repair them


@pytest.mark.parametrize("harm", [shutil.rmtree, to_link])
def test_folder_that_is_gone_or_a_link_is_not_used(two: Path, harm: Callable[[Path], None]) -> None:
    harm(two / "checkpoint-2")
    warnings: list[str] = []
    checkpoint = Checkpoints(two).load(warnings.append)
    assert checkpoint is not None
    assert (checkpoint.state["step"], len(warnings)) == (1, 1)


POINTERS = [
    "",
    "{",
    "[]",
    "3",
    '{"format": 2}',
    '{"format": 2, "checkpoint": 3}',
    '{"format": 2, "checkpoint": null}',
    '{"format": 2, "checkpoint": "../other/checkpoint-1"}',
    '{"format": 2, "checkpoint": "/etc"}',
    '{"format": 2, "checkpoint": "checkpoint-1/../.."}',
    '{"format": 2, "checkpoint": "checkpoint-1\\n"}',
    '{"format": 2, "checkpoint": "checkpoint-2", "previous": "../checkpoint-1"}',
    '{"format": 2, "checkpoint": "checkpoint-2", "previous": []}',
    '{"format": "2", "checkpoint": "checkpoint-2"}',
]


@pytest.mark.parametrize("text", POINTERS)
def test_damaged_pointer_is_not_followed_and_the_newest_whole_checkpoint_is_used(
    two: Path, text: str
) -> None:
    (two / "latest.json").write_text(text)
    warnings: list[str] = []
    checkpoint = Checkpoints(two).load(warnings.append)
    assert checkpoint is not None
    assert (checkpoint.state["step"], len(warnings)) == (2, 1)
    assert "latest.json" in warnings[0]
    Checkpoints(two).remove()
    (two / "latest.json").write_text(text)
    with pytest.raises(InputError, match=r"has no checkpoint to go on from, because .*latest"):
        Checkpoints(two).load()


def test_without_its_pointer_a_run_goes_on_from_the_newest_whole_checkpoint(two: Path) -> None:
    (two / "latest.json").unlink()
    (two / "checkpoint-10").mkdir()  # was being written
    assert step_of(Checkpoints(two)) == 2


def test_checkpoint_of_a_newer_version_is_refused(two: Path) -> None:
    for folder in folders(two):
        path = two / folder / "state.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": 7}))
        seal(two / folder)
    with pytest.raises(InputError, match=r"format 7 .* upgrade"):
        Checkpoints(two).load()


# links --------------------------------------------------------------------------------------------


def test_link_in_a_checkpoints_place_is_replaced_and_its_target_untouched(two: Path) -> None:
    dear = two / "dear"
    dear.mkdir()
    (dear / "thesis.txt").write_text("dear")
    for step in (3, 4):
        (two / f"checkpoint-{step}").symlink_to(dear)
    checkpoints = Checkpoints(two)
    step_of(checkpoints)
    save(checkpoints, 3)  # its own folder was a link, and so is one that is removed
    assert folders(two) == ["checkpoint-2", "checkpoint-3"]
    assert [p.name for p in dear.iterdir()] == ["thesis.txt"]
    assert step_of(Checkpoints(two)) == 3


# forged -------------------------------------------------------------------------------------------


def forge_header(text: str) -> bytes:
    """An .npy file of 64 bytes of data whose header is `text`."""
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


def npy_header(descr: str, shape: str, fortran: bool = False) -> bytes:
    return forge_header(f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}}}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(64),
        b"\x80\x04 a pickle",
        npy_header("'|O'", "(8,)"),
        npy_header("'<f8'", "(7,)"),
        npy_header("'<f8'", "(9,)"),
        npy_header("'<f8'", "(1000000000000,)"),
        npy_header("'<f8'", "(-2, -4)"),
        npy_header("'<f8'", "(2, 4)", fortran=True),
        npy_header("'<f8'", "8"),
        npy_header("'<f8'", "('8',)"),
        npy_header("'|V99999999999'", "(8,)"),
        npy_header("[('a', '<f8'), 3]", "(8,)"),
        npy_header("{}", "(8,)"),
        npy_header("[[]: 3]", "(8,)"),
        forge_header("__import__('os').system('true')"),
        forge_header("(" * 5_000),
        forge_header("{[]: 1}"),
        forge_header("3"),
    ],
)
def test_forged_array_is_refused(two: Path, data: bytes) -> None:
    for folder in folders(two):
        (two / folder / "replay.npy").write_bytes(data)
        seal(two / folder)
    with pytest.raises(InputError, match=r"replay.npy is damaged \(it is no array"):
        Checkpoints(two).load()


def test_checkpoint_cannot_run_code(two: Path) -> None:
    for folder in folders(two):
        with open(two / folder / "replay.npy", "wb") as file:
            np.save(file, np.array([os.system], object), allow_pickle=True)
        seal(two / folder)
    with pytest.raises(InputError, match="is damaged"):
        Checkpoints(two).load()


@pytest.mark.parametrize(
    "sums",
    [
        None,
        [],
        {},
        {"state.json": "", "state.safetensors": ""},
        {"state.json": 3, "state.safetensors": [], "replay.npy": None},
        {"state.json": "", "state.safetensors": "", "../checkpoint-2/replay.npy": ""},
        {"state.json": "", "state.safetensors": "", "/dev/zero": ""},
    ],
)
def test_forged_list_of_files_is_refused(two: Path, sums: Any) -> None:
    (two / "checkpoint-1" / "checksums.json").unlink()
    about = {"format": 2, "files": sums}
    (two / "checkpoint-2" / "checksums.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="has no checkpoint to go on from"):
        Checkpoints(two).load()


# no room ------------------------------------------------------------------------------------------


def test_full_disk_leaves_the_checkpoints_and_the_pointer(two: Path) -> None:
    checkpoints = Checkpoints(two)
    step_of(checkpoints)
    pointer = (two / "latest.json").read_bytes()
    for limit in (0, 50, 200, 3_000):  # in the pointer, in an array, ...
        with largest_file(limit), pytest.raises(InputError, match=r"cannot write .* \(File too"):
            save(checkpoints, 3)
        assert (two / "latest.json").read_bytes() == pointer
        assert folders(two) == ["checkpoint-1", "checkpoint-2"]
    save(checkpoints, 3)
    assert step_of(Checkpoints(two)) == 3


def test_where_three_do_not_fit_the_oldest_makes_room(two: Path, monkeypatch: Any) -> None:
    checkpoints = Checkpoints(two)
    step_of(checkpoints)
    monkeypatch.setattr(machine, "free_disk", lambda folder: RECORDS.nbytes - 1)
    with largest_file(10), pytest.raises(InputError, match="File too large"):
        save(checkpoints, 3)
    assert folders(two) == ["checkpoint-2"]  # the last checkpoint is whole
    assert step_of(Checkpoints(two)) == 2
    save(checkpoints, 3)
    assert folders(two) == ["checkpoint-2", "checkpoint-3"]


def test_disk_with_room_for_two_is_enough(tmp_path: Path) -> None:
    records = np.zeros(2**20, np.uint8)
    with small_disk(tmp_path / "disk", 5 * 2**19) as disk:
        checkpoints = Checkpoints(disk)
        for step in range(4):
            save(checkpoints, step, records)
        assert folders(disk) == ["checkpoint-2", "checkpoint-3"]
        with pytest.raises(InputError, match="No space left on device"):
            save(checkpoints, 4, np.zeros(2**21, np.uint8))
        assert json.loads((disk / "latest.json").read_text())["checkpoint"] == "checkpoint-3"
        assert Checkpoints(disk).load(pytest.fail) is not None


# killed -------------------------------------------------------------------------------------------


def test_kill_at_any_call_of_a_save_leaves_two_whole_checkpoints(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.kill_windows", str(tmp_path / "run")]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    calls = [line.partition(":")[0] for line in lines]
    assert {f"died at {name}" for name in ("write", "fsync", "replace", "unlink")} <= set(calls)
    for line in lines:
        loaded = json.loads(line[line.index("{") :])
        assert loaded["after"] in (loaded["before"], loaded["before"] + 1)
        assert loaded["older"] == loaded["after"] - 1
        assert len(loaded["folders"]) <= 4
    assert len(json.loads(lines[-1])["folders"]) == 2  # the last one survived


# bit for bit --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def often(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 2,000 steps with two checkpoints."""
    out = tmp_path_factory.mktemp("runs") / "run"
    train("sac", "CartPole-v1", out, **SHORT, checkpoint_seconds=0)
    return out


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What is in a run of 2,600 steps that was never stopped."""
    out = tmp_path_factory.mktemp("runs") / "run"
    train("sac", "CartPole-v1", out, **{**SHORT, "steps": 2_600})
    return contents(out)


@pytest.mark.parametrize("harm", [flip_bit, os.remove])
@pytest.mark.parametrize("name", ["replay.npy", "state.json"])
def test_run_from_the_older_checkpoint_ends_bit_for_bit_like_one_never_stopped(
    often: Path,
    longer: dict[str, bytes],
    tmp_path: Path,
    harm: Callable[[Path], None],
    name: str,
) -> None:
    out = copy_of(often, tmp_path)
    assert newest(out).name == "checkpoint-2000"
    harm(newest(out) / name)
    with pytest.warns(UserWarning, match=r"goes on from .*checkpoint-1504, because"):
        resume(out, steps=2_600, checkpoint_seconds=0)
    assert contents(out) == longer


def test_run_on_a_disk_that_fills_up_goes_on_when_there_is_room(
    longer: dict[str, bytes], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2**22) as disk:
        out, files = disk / "run", set()
        for kilobytes in (8, 32, 100, 300, 500, 720):
            enlarge(disk, kilobytes * 1024)
            full = pytest.raises(InputError, match=r"^cannot write \S+ \(No space left on")
            with warnings.catch_warnings(), full as error:
                warnings.simplefilter("ignore")  # at first there is no checkpoint
                resume(out, steps=2_600, checkpoint_seconds=0)
            files.add(Path(str(error.value).split()[2]).name)
        assert len(files) > 2  # it was full at different moments
        enlarge(disk, 2**22)
        resume(out, steps=2_600, checkpoint_seconds=0)
        assert contents(out) == longer
