"""What room the machine has: memory and disk, asked before something large is made."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

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
