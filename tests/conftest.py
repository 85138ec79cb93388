"""Tests compile the same few programs again and again: keep them for the session."""

import os
import tempfile

cache = os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", os.path.join(tempfile.gettempdir(), "policy-inertia-test-cache")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

from policy_inertia.threads import use_one_thread  # noqa: E402

use_one_thread()
