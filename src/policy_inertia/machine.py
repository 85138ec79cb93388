"""The machine: its threads, memory, disk and installed versions.

Only the standard library is imported here: threads must be set before NumPy is imported.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

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


MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that can be had without swapping; a container's own limit counts."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    available = re.search(r"MemAvailable:\s+(\d+) kB", _text(MEMINFO))
    if available:
        found.append(int(available[1]) * 1024)
    limit = re.match(r"\d+", _text(CGROUP / "memory.max"))
    used = re.match(r"anon (\d+)", _text(CGROUP / "memory.stat"))
    if limit and used:
        found.append(max(0, int(limit[0]) - int(used[1])))
    return min(found)


def free_disk(folder: Path) -> int:
    """Bytes that can be written in `folder`."""
    return shutil.disk_usage(folder).free


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # another system than Linux, or none of its containers
        return ""


LIBRARIES = ("policy-inertia", "jax", "jaxlib", "optax", "numpy", "gymnasium")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "not installed"
    return found


def commit() -> str | None:
    """The commit of the code that runs, where it is a git checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", os.path.dirname(__file__), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
