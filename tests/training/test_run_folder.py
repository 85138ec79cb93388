"""Folders that must not be touched."""

from pathlib import Path

import pytest

from policy_inertia import InputError, train
from policy_inertia.training.run_folder import RunFolder
from tests.support.runs import SHORT, contents, resume


def test_folder_with_a_run_is_not_overwritten(finished: Path) -> None:
    before = contents(finished)
    with pytest.raises(InputError, match="holds a run already: add --resume"):
        train("sac", "CartPole-v1", finished, **SHORT)
    assert contents(finished) == before


def test_folder_with_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        train("sac", "CartPole-v1", tmp_path, **SHORT)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(InputError, match="is a file: give a folder"):
        train("sac", "CartPole-v1", tmp_path / "run", **SHORT)
    assert (tmp_path / "run").read_text() == "mine"


def test_run_goes_on_only_with_its_own_settings(finished: Path) -> None:
    with pytest.raises(InputError, match=r"started with config.temperature=0.1, not 0.2"):
        resume(finished, temperature=0.2)


def test_folder_in_use_is_refused(finished: Path) -> None:
    import fcntl

    with open(finished / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="in use by another process"):
            resume(finished)


def test_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot write /proc/run .*choose another place"):
        train("sac", "CartPole-v1", "/proc/run", **SHORT)


def test_kill_while_the_first_file_is_written_leaves_a_folder_that_can_be_used(
    tmp_path: Path,
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()
    (tmp_path / "run" / ".run.json.1234.new").write_text("{")
    RunFolder(tmp_path / "run", {}, resume=True).close()
    assert (tmp_path / "run" / "run.json").exists()
