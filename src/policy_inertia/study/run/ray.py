"""Run the jobs of a study on a Ray cluster.

All nodes must share the disk that holds the study's folder, and must have this package installed.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.machine import ONE_THREAD
from policy_inertia.study.plan import Run
from policy_inertia.study.run.job import Outcome, attempt, job_of


class RayPool:
    """A pool in which every run is a Ray task with one core; Ray chooses the node."""

    def __init__(self, address: str = "auto", log: Sequence[str] = ()) -> None:
        self._log = log
        try:
            import ray
        except ImportError:
            raise InputError(
                "ray is not installed: pip install 'policy-inertia[ray]', or leave --ray out"
            ) from None
        self.ray: Any = ray
        _refuse_unreachable(address)
        try:
            ray.init(
                address=address,
                logging_level=logging.ERROR,
                log_to_driver=False,
                runtime_env={"env_vars": ONE_THREAD},
            )
        except Exception as error:  # Ray raises many classes
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise _no_cluster(address, reason) from error
        self.task = ray.remote(num_cpus=1, max_retries=0)(attempt)
        self.active: dict[Any, Run] = {}

    def free(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0)) - len(self.active)

    def submit(self, run: Run) -> None:
        self.active[self.task.remote(job_of(run, self._log))] = run

    def outcomes(self, seconds: float) -> list[tuple[Run, Outcome]]:
        if not self.active:
            return []
        ready, _ = self.ray.wait(list(self.active), num_returns=1, timeout=seconds)
        ended: list[tuple[Run, Outcome]] = []
        for task in ready:
            try:
                outcome = self.ray.get(task)
            except self.ray.exceptions.RayError as error:  # the process or its node is gone
                outcome = Outcome(f"{type(error).__name__}: the task's process or node was lost")
            ended.append((self.active.pop(task), outcome))
        return ended

    def close(self) -> None:
        self.ray.shutdown()


def _refuse_unreachable(address: str) -> None:
    """Try a plain connection first: Ray itself waits long for a host that does not answer."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdigit():
        raise InputError(f"'{address}' is no address of a Ray cluster: write host:port, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str, reason: object) -> InputError:
    return InputError(
        f"no Ray cluster answers at '{address}' ({reason}): start one with 'ray start --head', "
        "or give the address of one that runs"
    )
