"""Compile the simulator with Numba: strict float64 arithmetic, no GIL, a cache on disk."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba  # never with fastmath, which reorders sums
import numpy as np

Record = Any  # one row of a structured array
Rows = np.ndarray  # a structured array, such as the table of lanes

# NumPy's error model: a division by zero gives inf, as in highway-env, and costs no branch
_STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that other compiled functions call."""
    return numba.njit(**_STRICT)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function of an inner loop; inlining halves the cost of a tick."""
    return numba.njit(forceinline=True, **_STRICT)(function)


def entry_point(function: Callable[..., Any], cache_name: str) -> Any:
    """Compile a function that Python calls, and cache it on disk with everything it calls.

    Numba's cache compares the file of the entry point alone. `cache_name` names the cache file, so
    it must change with every other source: see `source_digest`.
    """
    function.__qualname__ = cache_name
    return numba.njit(cache=True, **_STRICT)(function)


def with_globals(function: Callable[..., Any], **values: Any) -> Callable[..., Any]:
    """Return a copy of a function in which the given values replace global names."""
    return types.FunctionType(
        function.__code__,
        function.__globals__ | values,
        function.__name__,
    )


def source_digest(files: Iterable[Path]) -> str:
    """Return a digest of these files and of all files of the simulator."""
    digest = hashlib.sha256()
    for path in sorted({*Path(__file__).parent.glob("*.py"), *files}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
