"""The machine: its threads, memory, disk and installed versions.

This module imports only the standard library, because threads must be set before NumPy is imported.
"""

from __future__ import annotations

import ctypes
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
    # The flag above does not cover XLA's newer matrix products. With one thread per core they split
    # sums over many rows differently on each machine, and the results differ in the last bits.
    "NPROC": "1",
}
"""Environment variables that limit NumPy and XLA to one thread."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameter numbers of mallopt(3)


def use_one_thread() -> None:
    """Set the thread variables that the user has not set; call before NumPy is imported."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    keep_memory()


def keep_memory() -> None:
    """Make glibc keep up to 2 GB of freed memory instead of returning it to the system.

    An update from pixels allocates tens of megabytes. By default glibc returns such large blocks at
    once, and the next update has to fetch all pages again. Other C libraries are left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 30)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)


MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that can be allocated without swapping, within the limit of a container."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    available = re.search(r"MemAvailable:\s+(\d+) kB", _text(MEMINFO))
    if available:
        limits.append(int(available[1]) * 1024)
    container = re.match(r"\d+", _text(CGROUP / "memory.max"))
    used = re.match(r"anon (\d+)", _text(CGROUP / "memory.stat"))
    if container and used:
        limits.append(max(0, int(container[0]) - int(used[1])))
    return min(limits)


def free_disk(folder: Path) -> int:
    """Bytes that can be written in `folder`."""
    return shutil.disk_usage(folder).free


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # not Linux, or not in a container
        return ""


LIBRARIES = ("policy-inertia", "jax", "jaxlib", "optax", "numpy", "gymnasium")


def versions() -> dict[str, str]:
    """The versions of Python and of `LIBRARIES`."""
    from importlib import metadata

    installed = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            installed[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            installed[library] = "not installed"
    return installed


def commit() -> str | None:
    """The git commit of the running code; None if it is not a git checkout."""
    try:
        git = subprocess.run(
            ["git", "-C", os.path.dirname(__file__), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return git.stdout.strip() or None
