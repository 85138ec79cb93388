"""Files that survive a kill and cannot run code: safetensors, JSON and .npy, moved into place."""

from __future__ import annotations

import fcntl
import json
import math
import os
from pathlib import Path
from typing import IO, Any

import jax
import numpy as np
import safetensors
import safetensors.numpy

from policy_inertia.errors import InputError
from policy_inertia.types import Tree

FORMAT = 1  # of policy files and of checkpoints; a newer one is refused


def flatten(tree: Tree, prefix: str) -> dict[str, np.ndarray]:
    """A pytree as named arrays."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        f"{prefix}.{jax.tree_util.keystr(path, simple=True, separator='.')}": np.asarray(leaf)
        for path, leaf in leaves
    }


def unflatten(template: Tree, arrays: dict[str, np.ndarray], prefix: str, where: Path) -> Tree:
    """The inverse of `flatten`; `template` gives structure, shapes and dtypes."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    values = []
    for path, leaf in leaves:
        name = f"{prefix}.{jax.tree_util.keystr(path, simple=True, separator='.')}"
        value = arrays.get(name)
        if value is None or value.shape != leaf.shape or value.dtype != leaf.dtype:
            found = "nothing" if value is None else f"{value.dtype}{list(value.shape)}"
            raise InputError(
                f"{where} holds {found} for '{name}' where {leaf.dtype}{list(leaf.shape)} is "
                "expected: it was written for other settings, so use the file of this run"
            )
        values.append(value)
    return jax.tree_util.tree_unflatten(structure, values)


def write_file(path: Path, data: bytes) -> None:
    """Write under a temporary name, to the disk, then move: the path holds all of it or the old."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write {path} ({error.strerror or error}): "
        "free the disk or choose another place with --out"
    )


def claim(path: Path, about: str, kind: str) -> IO[str]:
    """Make the folder `path` ours until the returned file is closed, or the process dies.

    `about` is the file that describes what is in it: without it the folder must be empty.
    """
    known = (path / about).exists()
    # hidden: the lock, and what a kill left of a file that was being written
    if not known and path.is_dir() and any(p.name[0] != "." for p in path.iterdir()):
        raise InputError(
            f"{path} is not empty and holds no {kind}: choose another --out, so that nothing in it "
            "is overwritten"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open(path / ".lock", "w")  # noqa: SIM115 - held as long as the work goes on
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InputError(
            f"{path} is in use by another process: wait for it, or choose another --out"
        ) from None
    return lock


def write_json(path: Path, value: Any) -> None:
    write_file(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path: Path, kind: str) -> dict[str, Any]:
    """Read one of our JSON files, or say in one sentence why it is none."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError(f"there is no {path}: expected {kind}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as {kind} ({error})") from error
    if not isinstance(value, dict) or "format" not in value:
        raise InputError(f"{path} is not {kind} of policy-inertia: it names no format")
    refuse_newer(path, value["format"])
    return value


def refuse_newer(path: Path, version: Any) -> None:
    if not isinstance(version, int) or version > FORMAT:
        raise InputError(
            f"{path} has format {version} and this version reads up to {FORMAT}: "
            "upgrade policy-inertia to use it"
        )


def write_arrays(path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """A safetensors file, with `about` as JSON in its header."""
    metadata = {"policy_inertia": json.dumps({"format": FORMAT, **about})}
    contiguous = {name: np.array(a, order="C") for name, a in arrays.items()}
    write_file(path, safetensors.numpy.save(contiguous, metadata))


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The inverse of `write_arrays`; refuses what is truncated, foreign or newer."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{path} is no complete safetensors file ({error}): it may be truncated or of another "
            "program, so save it again"
        ) from error
    if "policy_inertia" not in metadata:
        raise InputError(
            f"{path} is a safetensors file of another program: expected one that policy-inertia "
            "wrote, such as a run's policy.safetensors"
        )
    about = json.loads(metadata["policy_inertia"])
    refuse_newer(path, about.get("format"))
    return arrays, about


def finite(value: Any) -> Any:
    """JSON has no NaN: an undefined figure is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
