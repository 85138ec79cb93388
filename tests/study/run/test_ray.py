import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study.plan import Run
from policy_inertia.study.results import Results
from policy_inertia.study.run.ray import RayPool
from policy_inertia.study.run.scheduler import run_study
from tests.support.tiny_studies import run_files, tiny, under_way

ray = pytest.importorskip("ray")


def test_a_ray_cluster_gives_the_same_bytes_even_if_a_worker_is_killed(
    undisturbed: tuple[Path, Results], tmp_path: Path
) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        out, killed = tmp_path / "s", list[int]()

        def kill_once(runs: Sequence[Run]) -> None:
            if not killed and under_way(out):
                tasks = subprocess.run(
                    ["pgrep", "-f", "^ray::attempt"], capture_output=True, text=True
                )
                for pid in map(int, tasks.stdout.split()[:1]):
                    killed.append(pid)
                    os.kill(pid, signal.SIGKILL)

        pool = RayPool(cluster.address)
        assert pool.free() == 2
        results = run_study(tiny(), out, pool, kill_once)
        assert killed
        assert results.failed == []
        assert run_files(out) == run_files(undisturbed[0])
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at '127.0.0.1:1'"),
        ("here:there", "is no address of a Ray cluster"),
    ],
)
def test_a_cluster_that_does_not_answer_is_refused_in_one_sentence(
    address: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RayPool(address)
