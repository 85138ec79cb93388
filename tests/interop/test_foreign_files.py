"""Reading files of other programs: one guard for every error, and limits before memory is used."""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.interop import foreign_files
from policy_inertia.interop.foreign_files import (
    parse_npy,
    parsing,
    read_members,
    refuse_not_finite,
    shown,
    size_of,
)

ERRORS = [
    ValueError("bad\nnews"),
    KeyError("x"),
    zipfile.BadZipFile("x"),
    zlib.error("x"),
    NotImplementedError(),
    RuntimeError("x"),
    RecursionError(),
    MemoryError(),
    OverflowError("x"),
    EOFError(),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "x"),
    OSError(5, "Input/output error"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_every_error_of_a_parser_becomes_one_sentence(error: Exception) -> None:
    with pytest.raises(InputError, match=r"^file cannot be read as a thing \(.+\): do this$"):  # noqa: SIM117
        with parsing(Path("file"), "a thing", "do this"):
            raise error


def test_sentences_and_interrupts_pass_through() -> None:
    with pytest.raises(InputError, match=r"^as it was$"), parsing(Path("f"), "a", "b"):
        raise InputError("as it was")
    with pytest.raises(KeyboardInterrupt), parsing(Path("f"), "a", "b"):
        raise KeyboardInterrupt


def test_texts_of_files_are_shown_as_one_short_line() -> None:
    assert shown("a\n b\t\0\x1b[31m\u2028c") == "a b ??[31m c"
    assert shown("x" * 50, 10) == "xxxxxxxxxx..."
    assert shown(None) == "None"


def test_inflating_stops_at_the_declared_size() -> None:
    """A member may say that it has ten bytes, and inflate to a million."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(10**6))
    data = bytearray(buffer.getvalue())
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.getinfo("x").file_size == 10
        with pytest.raises(zipfile.BadZipFile, match="CRC"):
            read_members(archive, ["x"], len(data))


def test_members_have_a_limit_of_their_own_and_one_of_the_zip() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(3 * 2**20))
    with zipfile.ZipFile(buffer) as archive:
        size = len(buffer.getvalue())
        assert 1_000 < size < 10_000
        with pytest.raises(ValueError, match=r"x has 3,145,728 bytes, of which 1,\d+,\d+ are read"):
            read_members(archive, ["x"], size)
        assert len(read_members(archive, ["x"], 10**6)["x"]) == 3 * 2**20
        with pytest.raises(ValueError, match="of which 100 are read"):
            read_members(archive, ["x"], 10**9, limit=100)


def test_files_above_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert size_of(path) == 5
    monkeypatch.setattr(foreign_files, "FILE_LIMIT", 4)
    with pytest.raises(InputError, match="file has 5 bytes: at most 4 are read"):
        size_of(path)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(2.5, ">f4"),
        np.zeros((0, 3)),
        np.array([True, False]),
    ],
    ids=str,
)
def test_arrays_of_numbers_come_back(array: np.ndarray) -> None:
    file = io.BytesIO()
    np.save(file, array)
    read = parse_npy(file.getvalue())
    assert read.shape == array.shape
    np.testing.assert_array_equal(read, array)


def test_weights_must_be_finite() -> None:
    refuse_not_finite({"a": np.ones(3), "b": np.arange(3)}, Path("f"))
    with pytest.raises(InputError, match="f holds NaN or infinity in 'b'"):
        refuse_not_finite({"a": np.ones(3), "b": np.array([1, np.nan])}, Path("f"))
