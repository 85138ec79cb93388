"""Checksums of a checkpoint's files, cheap enough for replay buffers of gigabytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.files import refuse_link
from policy_inertia.storage import regular_file

BLOCK = 2**12
CHUNK = 2**20  # fits into the processor's cache, so a file's bytes are fetched once


class Checksum:
    """The SHA-256 of the sums of a file's blocks, as 64-bit words, and of the file's length.

    It changes with every flipped bit, lost sector and missing byte. It takes a tenth of the time of
    a SHA-256 of all bytes, which takes longer than writing them.
    """

    def __init__(self) -> None:
        self._sha256, self._length = hashlib.sha256(), 0

    def update(self, chunk: bytes | memoryview) -> None:
        """Add the next bytes: whole blocks, except for the last bytes of the file."""
        whole = len(chunk) // BLOCK * BLOCK
        if whole:
            words = np.frombuffer(chunk[:whole], "<u8").reshape(-1, BLOCK // 8)
            self._sha256.update(words.sum(axis=1, dtype="<u8").tobytes())
        self._sha256.update(chunk[whole:])
        self._length += len(chunk)

    def hexdigest(self) -> str:
        """The checksum; nothing may be added afterwards."""
        self._sha256.update(self._length.to_bytes(8, "little"))
        return self._sha256.hexdigest()


def chunks_of(header: bytes, data: memoryview) -> Iterator[bytes | memoryview]:
    """Cut a file into chunks, without a copy of all of `data`."""
    first = CHUNK - len(header)
    yield header + data[:first]
    for start in range(first, len(data), CHUNK):
        yield data[start : start + CHUNK]


def summed(
    chunks: Iterable[bytes | memoryview], checksum: Checksum
) -> Iterator[bytes | memoryview]:
    """Pass chunks on, and add them to a checksum."""
    for chunk in chunks:
        checksum.update(chunk)
        yield chunk


def checksum_of(path: Path) -> str:
    """Read a file and return its checksum.

    Raises:
        InputError: It is missing, a link or no regular file, or cannot be read.
    """
    refuse_link(path)
    regular_file(path)
    checksum = Checksum()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                checksum.update(chunk)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from error
    return checksum.hexdigest()
