"""Records of TensorBoard's event files, written without a library: those at hand import PyTorch.

The messages are `Event`, `Summary` and `SessionLog` of TensorBoard's `event.proto`.
"""

from __future__ import annotations

import re
import struct
import time

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, in reversed order of bits


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_table_entry(byte) for byte in range(256)]


def version_record() -> bytes:
    """The first record of every event file."""
    return _record(0, 3, b"brain.Event:2")


def start_record(step: int) -> bytes:
    """A record that makes TensorBoard drop the figures from `step` on that were written before."""
    return _record(step, 7, b"\x08\x01")  # status: START


def scalar_record(step: int, tag: str, value: float) -> bytes:
    """A figure at a step. Characters that TensorBoard does not know become `_`."""
    name = re.sub(r"[^-/\w.]", "_", tag).lstrip("/").encode()
    with np.errstate(over="ignore"):  # too large for float32: infinity
        number = np.float32(value).tobytes()
    return _record(step, 5, _field(1, _field(1, name) + b"\x15" + number))


def _record(step: int, field: int, message: bytes) -> bytes:
    """An event of now: its length, its data, and a checksum of each."""
    data = b"\x09" + struct.pack("<d", time.time())
    if step:
        data += b"\x10" + _varint(step)
    data += _field(field, message)
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """An integer in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def _checksum(data: bytes) -> bytes:
    """CRC-32C, rotated and shifted as TensorFlow's record files have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return struct.pack("<I", masked & 0xFFFFFFFF)
