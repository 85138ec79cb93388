"""Files of other programs: read with limits, and every failure is one sentence.

`parsing` is the one place in which the errors of other people's parsers become an InputError. Wrap
only the parsing in it, so that a mistake in our own code elsewhere is seen.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from policy_inertia.errors import InputError
from policy_inertia.storage import regular_file

FILE_LIMIT = 2 * 2**30
"""Bytes of a file, and of a member of a zip, that is read at all."""
INFLATION = 100
"""A member of a zip has at most this many times the bytes of the whole zip, and `SLACK`."""
SLACK = 2**20
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1
"""The flag of an encrypted member of a zip."""


def shown(text: object, length: int = 200) -> str:
    """A text from a file, or an error about it, as a short line that can be printed."""
    line = " ".join(str(text)[: 4 * length].split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= length else f"{line[:length]}..."


@contextmanager
def parsing(path: Path, kind: str, advice: str) -> Iterator[None]:
    """Turn every error of a parser into one sentence about the file.

    Args:
        path: The file.
        kind: What it should be.
        advice: What to do about it.

    Raises:
        InputError: The parser raised anything at all.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # parsers of damaged files raise errors of every kind
        reason = shown(error) or type(error).__name__
        raise InputError(f"{path} cannot be read as {kind} ({reason}): {advice}") from error


def size_of(path: Path) -> int:
    """The size of a regular file.

    Raises:
        InputError: It is no regular file, or larger than `FILE_LIMIT`.
    """
    size = regular_file(path).stat().st_size
    if size > FILE_LIMIT:
        raise InputError(f"{path} has {size:,} bytes: at most {FILE_LIMIT:,} are read")
    return size


def read_members(
    archive: zipfile.ZipFile, names: Iterable[str], size: int, limit: int = FILE_LIMIT
) -> dict[str, bytes]:
    """Read members of a zip; call it inside `parsing`.

    The declared size is checked before anything is inflated, and inflating stops at it.

    Args:
        archive: The zip.
        names: The members.
        size: The size of the zip file.
        limit: Bytes that a member may have.

    Raises:
        ValueError: A member is encrypted, too large, or compressed in an unusual way.
    """
    members = {}
    for name in names:
        info = archive.getinfo(name)
        if info.flag_bits & ENCRYPTED:
            raise ValueError(f"{shown(name, 40)} is encrypted")
        if info.compress_type not in COMPRESSIONS:
            raise ValueError(f"{shown(name, 40)} is compressed by method {info.compress_type}")
        allowed = min(limit, SLACK + INFLATION * size)
        if info.file_size > allowed:
            raise ValueError(
                f"{shown(name, 40)} has {info.file_size:,} bytes, of which {allowed:,} are read"
            )
        with archive.open(info) as file:
            members[name] = file.read(info.file_size)
    return members


NUMBERS = "biuf"
"""The kinds of NumPy's types that are numbers."""


def parse_npy(data: bytes, kinds: str = NUMBERS) -> np.ndarray:
    """The array of numbers in a .npy file; call it inside `parsing`.

    The declared shape is compared with the length of the data before an array is made.

    Args:
        data: The bytes of the file.
        kinds: The kinds of types that are allowed; never objects, which are pickled.

    Raises:
        ValueError: It holds other things than numbers, or more or fewer than it declares.
    """
    file = io.BytesIO(data)
    version = npy.read_magic(file)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran_order, dtype = read_header(file)
    return number_array(data[file.tell() :], dtype, shape, fortran_order, kinds)


def number_array(
    data: bytes,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    fortran_order: bool = False,
    kinds: str = NUMBERS,
) -> np.ndarray:
    """An array of numbers from its bytes.

    Raises:
        ValueError: The type is none of numbers, or the shape does not fit the bytes.
    """
    if dtype.kind not in kinds:
        raise ValueError(f"values of type {shown(dtype, 40)}: expected numbers")
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{len(data):,} bytes for an array of shape {shown(shape, 80)}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran_order else "C").copy()


def refuse_not_finite(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Check that weights are finite: with NaN, a network chooses action 0 whatever it sees.

    Raises:
        InputError: An array holds NaN or infinity.
    """
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(
                f"{path} holds NaN or infinity in '{shown(name, 80)}': its training diverged or "
                "the file is damaged, so give an earlier checkpoint"
            )
