"""One thread a process: networks this small gain nothing from more, and runs fill the cores."""

from __future__ import annotations

import os

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


def use_one_thread() -> None:
    """Say so to NumPy and XLA, where the user has not; only before they are imported."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
