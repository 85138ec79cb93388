"""One thread a process: networks this small gain nothing from more, and runs fill the cores."""

from __future__ import annotations

import ctypes
import os

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    # the flag leaves out XLA's newer products of matrices: shared among as many threads as there
    # are cores, sums over many rows come out with other bits on another machine
    "NPROC": "1",
}
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def use_one_thread() -> None:
    """Say so to NumPy and XLA, where the user has not; only before they are imported."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    keep_memory()


def keep_memory() -> None:
    """Have the C library keep up to 2 GB of what is freed, where it is glibc.

    By default it gives large blocks back to the system at once, and a call that learns from pixels
    takes tens of megabytes: it would pay for all those pages anew each time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 30)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
