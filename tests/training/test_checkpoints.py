"""Checkpoints that are damaged, foreign or cannot be written."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError
from tests.support.runs import copy_of, resume


def test_full_disk_loses_nothing_that_was_saved(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copy_of(finished, tmp_path)
    pointer = (out / "latest.json").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(InputError, match="No space left on device"):
        resume(out, steps=2_600)
    assert (out / "latest.json").read_bytes() == pointer
    monkeypatch.undo()
    resume(out, steps=2_600)
    assert json.loads((out / "result.json").read_text())["step"] == 2_600


def test_damaged_checkpoints_are_refused(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    (folder,) = out.glob("checkpoint-*")
    for name, says in (
        ("replay.npy", "damaged"),
        ("state.safetensors", "truncated"),
        ("state.json", "cannot be read"),
    ):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=says):
            resume(out, steps=3_000)
        (folder / name).write_bytes(whole)


def test_newer_checkpoint_is_refused(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    (path,) = out.glob("checkpoint-*/state.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 7}))
    with pytest.raises(InputError, match=r"format 7 .* upgrade"):
        resume(out, steps=3_000)


def test_checkpoint_cannot_run_code(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    (folder,) = out.glob("checkpoint-*")
    with open(folder / "replay.npy", "wb") as file:
        np.save(file, np.array([os.system], object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read"):
        resume(out, steps=3_000)
