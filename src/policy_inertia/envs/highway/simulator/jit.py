"""How the simulator is compiled: strict float64 arithmetic, the GIL released, cached on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba  # never with fastmath: it reorders sums

Record = Any  # one row of a structured array

# NumPy's error model: a division by zero gives inf, as in upstream's arithmetic, without a branch
_STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable) -> Any:
    """A function that is called from other compiled ones."""
    return numba.njit(**_STRICT)(function)


def inlined(function: Callable) -> Any:
    """A small function in an inner loop; inlining halves the cost of a tick."""
    return numba.njit(forceinline=True, **_STRICT)(function)


def entry_point(function: Callable) -> Any:
    """A function that Python calls: only these are cached, with everything they call in them."""
    return numba.njit(cache=True, **_STRICT)(function)


# plain Python around the compiled code, which imports none of it
_AROUND = {"__init__", "bridge", "drivers", "env", "original", "parity", "upstream"}


def _digest() -> str:
    """Numba's cache knows only an entry point's own file, so this goes into its key as well."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in _AROUND:
            digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest()
