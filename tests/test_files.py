import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from policy_inertia import files
from policy_inertia.errors import InputError
from tests.support.full_disk import largest_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# whole or not at all ------------------------------------------------------------------------------


def test_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_file(path, b"old")
    with (
        largest_file(100),
        pytest.raises(InputError, match=r"^cannot write .*/file \(File too large\): free the disk"),
    ):
        files.write_file(path, b"new" * 1_000)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_full_disk_leaves_a_log_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log"
    files.append(path, b"first\n")
    with largest_file(20), pytest.raises(InputError, match=r"cannot write .*log \(File too large"):
        files.append(path, b"a line that is longer than the disk has room for\n")
    assert path.read_bytes() == b"first\n"
    files.append(path, b"second\n")
    assert path.read_bytes() == b"first\nsecond\n"


def test_sentence_says_what_to_do_about_what_is_in_the_way(tmp_path: Path) -> None:
    file, folder = tmp_path / "file.txt", tmp_path / "folder"
    file.touch()
    folder.mkdir()
    for place in (file, file / "runs" / "a"):
        with pytest.raises(InputError, match=r"file\.txt is a file: give a folder") as error:
            files.make_folder(place)
        assert "free the disk" not in str(error.value)
    for path, advice in (
        (folder, "it is a folder, so give the name of a file with --out"),
        (file / "x.png", "a file is in the place of its folder, so choose another place"),
        (tmp_path / "missing" / "x.png", "its folder is missing, so make it or choose another"),
    ):
        with pytest.raises(InputError, match=f"^cannot write .*: {advice}"):
            files.write_file(path, b"")


def test_interrupted_write_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_file(tmp_path / "file", b"new")
    assert names(tmp_path) == []


def test_files_that_kills_left_half_written_are_removed(tmp_path: Path) -> None:
    for name in (".0123456789abcdef.new", ".mine.new", "0123456789abcdef.new", "notes.new"):
        (tmp_path / name).touch()
    files.remove_temporary_files(tmp_path)
    assert names(tmp_path) == [".mine.new", "0123456789abcdef.new", "notes.new"]


def test_kill_inside_a_write_leaves_the_old_file_and_one_that_is_removed(tmp_path: Path) -> None:
    files.write_file(tmp_path / "file", b"old")
    program = (
        "import os, signal, sys; from pathlib import Path; from policy_inertia import files\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_file(Path(sys.argv[1]), b'new')"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    files.write_file(tmp_path / "file", b"newer")  # what is left is not in the way
    files.remove_temporary_files(tmp_path)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"newer"


def test_names_are_synced_after_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []

    def record(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append("folder" if is_folder else "file")
        if is_folder:
            assert names(tmp_path) == ["file"]  # after it has its name

    monkeypatch.setattr(os, "fsync", record)
    files.write_file(tmp_path / "file", b"data")
    assert synced == ["file", "folder"]


def test_new_file_does_not_replace_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="File exists"):
        files.write_new(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_text() == "mine"


def test_file_in_a_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file: give a folder"):
        files.make_folder(tmp_path / "file" / "folder")


# links --------------------------------------------------------------------------------------------


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    target, run = tmp_path / "target", tmp_path / "run"
    target.write_text("dear")
    run.mkdir()
    for name in ("file", "log", "new", ".lock", f".file.{os.getpid()}.new"):
        (run / name).symlink_to(target)
    files.write_file(run / "file", b"data")
    with pytest.raises(InputError, match="log is a symbolic link: remove it"):
        files.append(run / "log", b"data")
    with pytest.raises(InputError, match="new is a symbolic link: remove it"):
        files.write_new(run / "new", [b"data"])
    with pytest.raises(InputError, match=r"\.lock is a symbolic link: remove it"):
        files.claim(run, "file", "run")
    assert target.read_text() == "dear"
    assert (run / "file").read_bytes() == b"data"
    assert not (run / "file").is_symlink()


def test_link_to_nothing_makes_no_file(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"\.lock is a symbolic link"):
        files.claim(tmp_path, "run.json", "run")
    assert not (tmp_path / "elsewhere").exists()


def test_folder_is_removed_and_a_link_to_one_is_only_unlinked(tmp_path: Path) -> None:
    (tmp_path / "dear").mkdir()
    (tmp_path / "dear" / "thesis.txt").touch()
    (tmp_path / "link").symlink_to(tmp_path / "dear")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner").symlink_to(tmp_path / "dear")
    for name in ("link", "folder", "missing"):
        files.remove_folder(tmp_path / name)
    assert names(tmp_path) == ["dear"]
    assert names(tmp_path / "dear") == ["thesis.txt"]


def test_pipe_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    os.mkfifo(tmp_path / ".lock")

    def attempts() -> None:
        with pytest.raises(InputError, match=r"log \(No such device or address\)"):
            files.append(tmp_path / "log", b"data")
        with pytest.raises(InputError, match=r"\.lock is not a regular file"):
            files.claim(tmp_path, "log", "run")
        done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=attempts, daemon=True)
    thread.start()
    thread.join(20)
    assert done


# locks --------------------------------------------------------------------------------------------


def test_folder_in_use_or_with_other_files_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with (
        files.claim(folder, "run.json", "run"),
        pytest.raises(InputError, match="in use by another process"),
    ):
        files.claim(folder, "run.json", "run")
    files.claim(folder, "run.json", "run").close()  # hidden files do not count
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        files.claim(folder, "run.json", "run")
    (folder / "run.json").write_text("{}")
    files.claim(folder, "run.json", "run").close()


def test_lock_file_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("mine")
    files.claim(tmp_path, "run.json", "run").close()
    assert (tmp_path / ".lock").read_text() == "mine"
