"""Files that survive a kill and cannot run code: safetensors and JSON, written atomically."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
import safetensors
import safetensors.numpy

from policy_inertia.errors import InputError
from policy_inertia.files import write_file
from policy_inertia.origin import from_file
from policy_inertia.schema import parse_object, read_as
from policy_inertia.types import Tree

FORMAT = 2
"""Format number of policy files, checkpoints and run folders; policy-inertia 0.1 wrote 1."""

LARGEST_JSON = 2**26
"""Bytes of a JSON file; the description of a large study has less than a hundredth."""
LARGEST_PAGE = 2**24
"""Bytes of a Markdown page."""

T = TypeVar("T")


def flatten(tree: Tree, prefix: str) -> dict[str, np.ndarray]:
    """Convert a pytree to named arrays, such as `prefix.critics.0.w`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_leaf_name(prefix, path): np.asarray(leaf) for path, leaf in leaves}


def unflatten(template: Tree, arrays: dict[str, np.ndarray], prefix: str, where: Path) -> Tree:
    """Build a pytree from named arrays, the inverse of `flatten`.

    Args:
        template: A pytree with the same structure, shapes and dtypes.
        arrays: Arrays by name.
        prefix: The prefix that `flatten` got.
        where: The file, for error messages.

    Returns:
        The pytree, with the arrays as leaves.

    Raises:
        InputError: An array is missing, or has another shape or dtype.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    values = []
    for path, leaf in leaves:
        name = _leaf_name(prefix, path)
        value = arrays.get(name)
        if value is None or value.shape != leaf.shape or value.dtype != leaf.dtype:
            actual = "nothing" if value is None else f"{value.dtype}{list(value.shape)}"
            raise InputError(
                f"{where} holds {actual} for '{name}', but {leaf.dtype}{list(leaf.shape)} is "
                "expected: it was written with other settings, so use the file of this run"
            )
        values.append(value)
    return jax.tree_util.tree_unflatten(structure, values)


def _leaf_name(prefix: str, path: Any) -> str:
    return f"{prefix}.{jax.tree_util.keystr(path, simple=True, separator='.')}"


SPECIAL_FILES: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def regular_file(path: Path) -> Path:
    """Return `path` if it is a regular file; call it before you open what a user names.

    Reading a named pipe or a device may never end.

    Raises:
        InputError: There is no such file, it is a folder, a pipe, a socket or a device, or it
            cannot be examined.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:200]!r} cannot be opened ({reason})") from None
    if not stat.S_ISREG(mode):
        kind = next((kind for has, kind in SPECIAL_FILES if has(mode)), "no regular file")
        raise InputError(f"{path} is {kind}: give a regular file")
    return path


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes.

    Raises:
        InputError: It is larger, is no regular file, or cannot be read.
    """
    regular_file(path)
    try:
        with open(path, "rb") as file:
            # a file may grow, and `read` reserves as much memory as it is asked for
            data = file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from error
    if len(data) > limit:
        raise InputError(f"{path} has more than {limit:,} bytes, which is too large to be read")
    return data


def read_page(path: Path) -> str:
    """Return the text of a Markdown page.

    Raises:
        InputError: It cannot be read, or is larger than a page.
    """
    return read_file(path, LARGEST_PAGE).decode(errors="replace")


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically."""
    write_file(path, encode_json(value))


def encode_json(value: Any) -> bytes:
    """The bytes of a JSON file."""
    return (json.dumps(value, indent=1) + "\n").encode()


def read_json(
    path: Path,
    schema: type[T],
    kind: str,
    format_number: int = FORMAT,
    *,
    trust: bool = False,
    trusting: str = "",
) -> T:
    """Read a JSON file that this package wrote.

    Args:
        path: The file.
        schema: A dataclass with the file's keys and their types, without the format number.
        kind: What the file holds, for error messages.
        format_number: The format that the file must have.
        trust: Whether the user trusts the file; see `origin`.
        trusting: The Python call that reads the file with `trust`, for error messages.

    Returns:
        The contents of the file; unless it is trusted, its texts remember that they come from it.

    Raises:
        InputError: The file is missing, cannot be read, is damaged, or has another format.
    """
    if not path.exists():
        raise InputError(f"there is no {path}: expected {kind}")
    values = parse_object(read_file(path, LARGEST_JSON), path, kind)
    if "format" not in values:
        raise InputError(f"{path} is not {kind} of policy-inertia: it has no format number")
    refuse_format(path, values.pop("format"), format_number)
    return read_as(schema, values if trust else from_file(values, path, trusting), path)


def refuse_format(path: Path, number: Any, expected: int = FORMAT) -> None:
    """Check the format number of a file.

    Raises:
        InputError: The number is not `expected`.
    """
    if not isinstance(number, int) or isinstance(number, bool) or number > expected:
        raise InputError(
            f"{path} has format {str(number)[:40]} and this version reads format {expected}: "
            "upgrade policy-inertia to use it"
        )
    if number < expected:
        raise InputError(
            f"{path} has format {number}, which policy-inertia 0.1 wrote: train or save it again "
            "with this version, or use policy-inertia 0.1"
        )


def write_arrays(path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Write arrays as a safetensors file, with `about` as JSON in its header."""
    write_file(path, encode_arrays(arrays, about))


def encode_arrays(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """The bytes of a safetensors file with `about` as JSON in its header."""
    metadata = {"policy_inertia": json.dumps({"format": FORMAT, **about})}
    contiguous = {name: np.array(a, order="C") for name, a in arrays.items()}
    return bytes(safetensors.numpy.save(contiguous, metadata))


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file of `write_arrays`.

    Returns:
        The arrays by name, and `about`, whose texts remember that they come from the file.

    Raises:
        InputError: The file is missing, truncated, from another program, or has another format.
    """
    regular_file(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{path} is not a complete safetensors file ({error}): it may be truncated or from "
            "another program, so save it again"
        ) from error
    if "policy_inertia" not in metadata:
        raise InputError(
            f"{path} is a safetensors file of another program: give one that policy-inertia wrote, "
            "such as a run's policy.safetensors"
        )
    about = parse_object(metadata["policy_inertia"].encode(), path, "a policy or a checkpoint")
    refuse_format(path, about.pop("format", None))
    return arrays, from_file(about, path)


def refuse_not_finite(arrays: Mapping[str, np.ndarray], where: object) -> None:
    """Check that arrays hold numbers only.

    Raises:
        InputError: One of them holds NaN or infinity.
    """
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(
                f"{where} holds NaN or infinity in '{name}', so it cannot act: its training "
                "diverged or the file is damaged, so give an earlier one"
            )


def finite(value: Any) -> Any:
    """Convert NaN and infinity to None, because JSON has neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
