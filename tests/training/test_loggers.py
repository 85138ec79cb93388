"""The logs of a run: what is in them, and what a damaged log or a full disk does."""

import json
import os
import resource
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

from policy_inertia import InputError
from policy_inertia.run_settings import settings
from policy_inertia.training.loggers import JsonLines, TensorBoard, read_metrics
from policy_inertia.training.loop import run
from tests.support.full_disk import largest_file
from tests.support.runs import SHORT, contents, copy_of, resume

FIGURES: dict[str, Any] = {"eval/return": 2.5, "train/loss": float("nan"), "eval/crash_rate": None}


def events(out: Path) -> list[Any]:
    """All events of a run, in the order in which TensorBoard reads them."""
    events = []
    for path in sorted(out.glob("events.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack("<Q", data[at : at + 8])
            (check,) = struct.unpack("<I", data[at + 8 : at + 12])
            record = data[at + 12 : at + 12 + size]
            at += 12 + size
            assert check == masked_crc32c(struct.pack("<Q", size))
            assert data[at : at + 4] == struct.pack("<I", masked_crc32c(record))
            events.append(Event.FromString(record))
            at += 4
    return events


# TensorBoard --------------------------------------------------------------------------------------


def test_tensorboard_gets_every_figure_that_is_a_number(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.log(8, FIGURES, 100.0)
    board.close()
    first, *rest = events(tmp_path)
    assert first.file_version == "brain.Event:2"
    figures = {e.summary.value[0].tag: (e.step, e.summary.value[0].simple_value) for e in rest}
    assert figures == {
        "eval/mean_reward": (8, 2.5),
        "time/total_timesteps": (8, 8),
        "time/fps": (8, 100),
    }
    assert all(event.wall_time > 1.5e9 for event in events(tmp_path))


def test_resumed_log_is_a_new_file_that_hides_only_what_came_after(tmp_path: Path) -> None:
    for resumed_at, step in ((None, 500), (500, 1_000), (500, 1_000)):
        TensorBoard(tmp_path, resumed_at).log(step, FIGURES, 1.0)
    assert len(list(tmp_path.glob("events.*"))) == 3  # though all three in one second
    starts = [e.step for e in events(tmp_path) if e.session_log.status == SessionLog.START]
    # TensorBoard drops events whose step is at least this: step 500 itself must stay
    assert starts == [501, 501]


def test_full_disk_under_tensorboard_is_one_sentence_and_closing_is_quiet(tmp_path: Path) -> None:
    before = threading.active_count()
    board = TensorBoard(tmp_path)
    board.log(1, FIGURES, 1.0)
    with largest_file(300):
        for step in range(2, 4):
            with pytest.raises(InputError, match=r"^cannot write .*events.* \(File too large\)"):
                board.log(step, FIGURES | {f"train/{i}": i for i in range(20)}, 1.0)
        board.close()
    assert {e.step for e in events(tmp_path)} == {0, 1}  # and every record is whole
    assert threading.active_count() == before


def test_full_disk_under_tensorboard_ends_a_run_that_can_go_on(
    tmp_path: Path, finished: Path
) -> None:
    config = settings("sac", "CartPole-v1", **SHORT, checkpoint_seconds=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(step: int, figures: Any, speed: float) -> None:
        if step >= 1_000:
            (path,) = (tmp_path / "run").glob("events.*")
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))

    try:
        with pytest.raises(InputError, match=r"^cannot write .*/events.* \(File too large\)"):
            run(config, tmp_path / "run", progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    pointer = json.loads((tmp_path / "run" / "latest.json").read_text())
    assert pointer["checkpoint"] == "checkpoint-1000"
    run(config, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(finished)


class Broken:
    """A logger that cannot be closed, and perhaps cannot log."""

    def __init__(self, logs: bool) -> None:
        self.logs = logs

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        if not self.logs:
            raise InputError("the real error")

    def close(self) -> None:
        raise OSError("an error of closing")


def test_error_of_closing_does_not_hide_the_real_one(tmp_path: Path) -> None:
    config = settings("sac", "CartPole-v1", **{**SHORT, "steps": 8})
    with pytest.raises(InputError, match=r"^the real error$"):
        run(config, tmp_path / "a", loggers=[Broken(logs=False)])
    with pytest.raises(OSError, match=r"^an error of closing$"):
        run(config, tmp_path / "b", loggers=[Broken(logs=True)])


# metrics.jsonl ------------------------------------------------------------------------------------


def test_lines_after_the_checkpoint_are_cut(tmp_path: Path) -> None:
    metrics = JsonLines(tmp_path)
    metrics.log(1, FIGURES, 1.0)
    size = metrics.size
    metrics.log(2, FIGURES, 1.0)
    JsonLines(tmp_path, size, pytest.fail).log(3, FIGURES, 1.0)
    record = {"eval/return": 2.5, "train/loss": None, "eval/crash_rate": None}
    assert read_metrics(tmp_path) == [{"step": 1, **record}, {"step": 3, **record}]


def test_short_file_is_said_and_its_whole_lines_stay(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    path = out / "metrics.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    size = path.stat().st_size
    expected = f"metrics.jsonl has {size} of the {len(whole)} bytes that the checkpoint knows"
    with pytest.warns(UserWarning, match=expected):
        resume(out, steps=2_600)
    assert b"\0" not in path.read_bytes()
    assert path.read_bytes().startswith(b"".join(lines[:2]) + b'{"step": 2504')
    assert [r["step"] for r in read_metrics(out)] == [0, 504, 2_504, 2_600]
    resume(out, steps=3_100)  # it is whole again: no warning
    assert [r["step"] for r in read_metrics(out)] == [0, 504, 2_504, 2_600, 3_000, 3_104]


def test_missing_file_is_said_and_begun_again(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    (out / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"metrics.jsonl has 0 of the \d+ bytes"):
        resume(out, steps=2_600)
    assert [r["step"] for r in read_metrics(out)] == [2_504, 2_600]


def test_link_is_refused_and_its_target_untouched(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    (out / "metrics.jsonl").rename(tmp_path / "dear")
    (out / "metrics.jsonl").symlink_to(tmp_path / "dear")
    before = (tmp_path / "dear").read_bytes()
    with pytest.raises(InputError, match=r"metrics.jsonl is a symbolic link"):
        resume(out, steps=2_600)
    assert (tmp_path / "dear").read_bytes() == before


def test_other_name_of_the_same_file_is_untouched(finished: Path, tmp_path: Path) -> None:
    out = copy_of(finished, tmp_path)
    with open(out / "metrics.jsonl", "ab") as file:
        file.write(b"more")
    os.link(out / "metrics.jsonl", tmp_path / "dear")
    before = (tmp_path / "dear").read_bytes()
    resume(out, steps=2_600)
    assert (tmp_path / "dear").read_bytes() == before


GOOD = b'{"step": 1, "eval/return": 2.5, "train/loss": null}'
BAD = [
    b"",
    b"{",
    b"[]",
    b"3",
    b"{}",
    b'{"eval/return": 1}',
    b'{"step": "1"}',
    b'{"step": 1.5}',
    b'{"step": null}',
    b'{"step": 1, "eval/return": "high"}',
    b'{"step": 1, "eval/return": []}',
    b'{"step": 1, "eval/return": NaN}',
    b'{"step": 1, "eval/return": 1e999}',
    b'{"step": 1, "eval/return": true}',
    b"\0" * 40,
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"step": ' + b"1" * 5_000 + b"}",
]


@pytest.mark.parametrize("line", BAD)
def test_bad_line_is_refused_with_its_number(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"\n".join([GOOD, GOOD, line, GOOD]) + b"\n")
    with pytest.raises(InputError) as error:
        read_metrics(tmp_path)
    message = str(error.value)
    assert message.startswith(f"{path}, line 3 ")
    assert "\n" not in message
    assert len(message) < 1_000


def test_unfinished_last_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(GOOD + b"\n" + GOOD[:10])
    assert [record["step"] for record in read_metrics(tmp_path)] == [1]


def test_pipe_in_the_files_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metrics.jsonl")
    with pytest.raises(InputError, match="is a named pipe"):
        read_metrics(tmp_path)
    with pytest.raises(InputError, match="is a named pipe"):
        JsonLines(tmp_path, 10)
