import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia import InputError
from policy_inertia.training.checksums import BLOCK, CHUNK, Checksum, checksum_of, chunks_of, summed


def checksum(data: bytes) -> str:
    total = Checksum()
    total.update(data)
    return total.hexdigest()


def test_checksum_of_a_small_file_is_the_sha256_of_its_bytes_and_its_length() -> None:
    data = b"some bytes"
    assert checksum(data) == hashlib.sha256(data + (10).to_bytes(8, "little")).hexdigest()


def test_checksum_sums_the_words_of_each_block() -> None:
    words = np.array([2**64 - 1, 3] + [0] * (BLOCK // 8 - 2), np.uint64)
    expected = (2).to_bytes(8, "little") + b"rest" + (BLOCK + 4).to_bytes(8, "little")
    assert checksum(words.tobytes() + b"rest") == hashlib.sha256(expected).hexdigest()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3 * BLOCK), st.integers(0, 2**32 - 1), st.data())
def test_every_flipped_bit_and_every_cut_is_noticed(
    length: int, seed: int, data: st.DataObject
) -> None:
    content = bytearray(np.random.default_rng(seed).bytes(length))
    whole = checksum(bytes(content))
    if length:
        cut = data.draw(st.integers(0, length - 1))
        assert checksum(bytes(content[:cut])) != whole
        content[cut] ^= 1 << data.draw(st.integers(0, 7))
        assert checksum(bytes(content)) != whole


def test_lost_and_exchanged_blocks_are_noticed() -> None:
    first, second, zeros = (bytes([i]) * BLOCK for i in (1, 2, 0))
    sums = {checksum(x) for x in (first + second, second + first, first + zeros, zeros + second)}
    assert len(sums) == 4


@pytest.mark.parametrize("length", [0, 1, BLOCK, CHUNK - 128, CHUNK, 3 * CHUNK + 5])
def test_file_written_in_chunks_has_the_checksum_of_the_file_read(
    length: int, tmp_path: Path
) -> None:
    header, data = bytes(range(128)), np.random.default_rng(0).bytes(length)
    total = Checksum()
    chunks = list(summed(chunks_of(header, memoryview(data)), total))
    assert b"".join(chunks) == header + data
    (tmp_path / "file").write_bytes(header + data)
    assert total.hexdigest() == checksum_of(tmp_path / "file") == checksum(header + data)


def test_missing_files_and_links_have_no_checksum(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        checksum_of(tmp_path / "file")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(InputError, match="is a symbolic link"):
        checksum_of(tmp_path / "link")
