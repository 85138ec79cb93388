import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
from policy_inertia.threads import use_one_thread
use_one_thread()
import hashlib, jax, numpy as np
from policy_inertia.algorithms.networks import Network
from policy_inertia.types import Spec
rng = np.random.default_rng(0)
network = Network(Spec(4 * 84 * 84, 6, image=(4, 84, 84)), (512,), 6)
params, x = network.init(rng), rng.integers(0, 256, (32, 4 * 84 * 84), dtype=np.uint8)
found = jax.jit(jax.grad(lambda p: (network(p, x) ** 2).sum()))(params)
leaves = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(found)]
print(hashlib.sha1(b"".join(leaves)).hexdigest())
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core")
def test_gradients_do_not_depend_on_the_number_of_cores():
    env = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS")}
    words = [sys.executable, "-c", SCRIPT]
    one, two = (
        subprocess.run([*words, n], env=env, capture_output=True, text=True, check=True).stdout
        for n in ("1", "2")
    )
    assert one == two
    assert len(one) == 41
