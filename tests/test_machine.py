import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from policy_inertia import machine

SCRIPT = """
import os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
from policy_inertia.machine import use_one_thread
use_one_thread()
import hashlib, jax, numpy as np
from policy_inertia.actions.discrete import Discrete
from policy_inertia.networks.perceptron import Network
from policy_inertia.envs.spec import Spec
rng = np.random.default_rng(0)
network = Network(Spec(4 * 84 * 84, Discrete(6), image=(4, 84, 84)), (512,), 6)
params, x = network.init(rng), rng.integers(0, 256, (32, 4 * 84 * 84), dtype=np.uint8)
gradients = jax.jit(jax.grad(lambda p: (network(p, x) ** 2).sum()))(params)
leaves = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(gradients)]
print(hashlib.sha1(b"".join(leaves)).hexdigest())
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core")
def test_gradients_do_not_depend_on_the_number_of_cores() -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS")}
    command = [sys.executable, "-c", SCRIPT]
    one, two = (
        subprocess.run([*command, n], env=env, capture_output=True, text=True, check=True).stdout
        for n in ("1", "2")
    )
    assert one == two
    assert len(one) == 41


def test_thread_variables_of_the_user_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    machine.use_one_thread()
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert os.environ["MKL_NUM_THREADS"] == "1"


def test_free_memory_is_what_the_kernel_reports_as_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    whole = machine.free_memory()  # neither file exists: all memory of the machine
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemFree: 3 kB\nMemAvailable:    5 kB\n")
    assert machine.free_memory() == 5 * 1024 < whole


def test_the_memory_limit_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    (tmp_path / "memory.stat").write_text("anon 300\nfile 7\n")
    for limit, free in (("1000\n", 700), ("200\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        assert machine.free_memory() == free
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.free_memory() > 10**6


def test_free_disk_is_the_free_space_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=4)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    assert machine.free_disk(tmp_path) == 4


def test_versions_name_python_and_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LIBRARIES", ("numpy", "no-such-library"))
    versions = machine.versions()
    assert versions["python"].startswith("3.")
    assert versions["numpy"][0].isdigit()
    assert versions["no-such-library"] == "not installed"


def test_outside_a_git_checkout_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    assert machine.commit() is None
