"""Write files and folders: whole or not at all, and never through a link.

Everything that this package writes goes through here. An `OSError`, such as a full disk, becomes an
`InputError` of one sentence.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from policy_inertia.errors import InputError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not block
_TEMPORARY = ".new"
_MODE = 0o666  # as `open` has it: the umask decides
_ELSEWHERE = "choose another place with --out"
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), f"free the disk or {_ELSEWHERE}"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), f"you may not write there, so {_ELSEWHERE}"
    ),
    errno.ENOENT: f"its folder is missing, so make it or {_ELSEWHERE}",
    errno.ENOTDIR: f"a file is in the place of its folder, so {_ELSEWHERE}",
    errno.EISDIR: "it is a folder, so give the name of a file with --out",
}
"""What to do about an error of writing, by its number."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into the sentence that `path` cannot be written."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, _ELSEWHERE)
        raise InputError(f"cannot write {path} ({error.strerror or error}): {advice}") from error


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically: after a kill, `path` holds all of the data or the old file.

    A link in the file's place is replaced; what it points to is not touched.

    Raises:
        InputError: The file cannot be written.
    """
    # a random name: what a killed process left behind cannot be in the way
    temporary = path.with_name(f".{secrets.token_hex(8)}{_TEMPORARY}")
    with writing(path):
        try:
            _write_new(temporary, [data])
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_new(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write and sync a file that does not exist yet.

    Raises:
        InputError: The file exists or cannot be written.
    """
    with writing(path):
        _write_new(path, chunks)


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file and sync it; a failure leaves the file as it was.

    Raises:
        InputError: The file cannot be written, or is a link or no regular file.
    """
    with writing(path), _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as descriptor:
        size = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise


def make_folder(path: Path) -> None:
    """Make a folder and its parents, where they are missing.

    Raises:
        InputError: It cannot be made, or a file is in its place.
    """
    for place in (path, *path.parents):
        if place.exists():
            if not place.is_dir():
                raise InputError(
                    f"{place} is a file: give a folder, or a place where one can be made, with "
                    "--out"
                )
            break
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def new_folder(path: Path) -> None:
    """Make a folder that does not exist yet.

    Raises:
        InputError: Something has its name, or it cannot be made.
    """
    with writing(path):
        path.mkdir()


def remove_file(path: Path) -> None:
    """Remove a file if it is there; of a link, only the link.

    Raises:
        InputError: It cannot be removed.
    """
    with writing(path):
        path.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, as `os.fsync` does for a file's bytes.

    Raises:
        InputError: The system cannot do it.
    """
    with writing(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_temporary_files(folder: Path) -> None:
    """Remove what killed processes left half written; call it while the folder is locked."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        if re.fullmatch(r"\.[0-9a-f]{16}", path.stem):
            remove_file(path)


def remove_folder(path: Path) -> None:
    """Remove a folder with everything in it, if it can be removed; of a link, only the link."""
    if path.is_symlink():
        with contextlib.suppress(OSError):
            path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)  # does not follow links either


def claim(path: Path, about: str, kind: str) -> IO[bytes]:
    """Create and lock the folder `path`, until the returned file is closed or the process ends.

    Args:
        path: The folder.
        about: Name of the file that describes the folder. If it is missing, the folder must be
            empty.
        kind: What the folder holds, for error messages.

    Returns:
        The open lock file.

    Raises:
        InputError: The folder holds other files, is in use, or cannot be written.
    """
    make_folder(path)
    with writing(path):
        described = (path / about).exists()
        # hidden files are the lock, and files that a kill left half written
        if not described and any(p.name[0] != "." for p in path.iterdir()):
            raise InputError(
                f"{path} is not empty and holds no {kind}: choose another --out, so that nothing "
                "in it is overwritten"
            )
        lock = os.fdopen(_open(path / ".lock", os.O_RDWR | os.O_CREAT), "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InputError(
            f"{path} is in use by another process: wait for it, or choose another --out"
        ) from None
    return lock


def refuse_link(path: Path) -> None:
    """Check that a file or folder of our own is not a symbolic link.

    Raises:
        InputError: It is one.
    """
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link: remove it, because nothing is written through links"
        ) from None


def _open(path: Path, flags: int) -> int:
    """Open a file for writing; never through a link, and only a regular file."""
    try:
        descriptor = os.open(path, flags | _NO_LINK, _MODE)
    except OSError:
        refuse_link(path)
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is not a regular file: remove it, or choose another place")
    return descriptor


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = _open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_new(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
        for chunk in chunks:
            _write_all(descriptor, chunk)
        os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
