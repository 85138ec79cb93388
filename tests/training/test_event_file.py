"""Event files, against the messages and the checksum of tensorboardX."""

import struct
import time
from typing import Any

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c
from tensorboardX.summary import scalar

from policy_inertia.training.event_file import scalar_record, start_record, version_record


def theirs(**fields: Any) -> bytes:
    """The record that tensorboardX writes of an event at time 1.5e9."""
    data = Event(wall_time=1.5e9, **fields).SerializeToString()
    length = struct.pack("<Q", len(data))
    checks = [struct.pack("<I", masked_crc32c(part)) for part in (length, data)]
    return length + checks[0] + data + checks[1]


@pytest.mark.parametrize("step", [0, 1, 127, 128, 300_000, 2**40])
@pytest.mark.parametrize("tag", ["eval/mean_reward", "/a b:µ[0.5]", "x" * 300])
@pytest.mark.parametrize("value", [0.0, -2.5, 1e-30, np.float32(0.1), 7, 1e300])
def test_records_are_those_of_tensorboardx(
    step: int, tag: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1.5e9)
    assert scalar_record(step, tag, value) == theirs(step=step, summary=scalar(tag, value))
    assert version_record() == theirs(file_version="brain.Event:2")
    assert start_record(step) == theirs(step=step, session_log={"status": 1})
