"""The runs of a study as tasks of a Ray cluster, over the same run folders.

The folder of the study must be on a disk that all nodes share, and this package installed on them.
"""

from __future__ import annotations

import logging
import socket
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.machine import ONE_THREAD
from policy_inertia.study.plan import Run
from policy_inertia.study.run.job import attempt
from policy_inertia.study.run.scheduler import Answer, as_job


class RayPool:
    """One task for each run, one core for each task; Ray says where."""

    def __init__(self, address: str = "auto") -> None:
        try:
            import ray
        except ImportError:
            raise InputError(
                "ray is not installed: pip install 'policy-inertia[ray]', or leave --ray out"
            ) from None
        self.ray: Any = ray
        _refuse_silent(address)
        try:
            ray.init(
                address=address,
                logging_level=logging.ERROR,
                log_to_driver=False,
                runtime_env={"env_vars": ONE_THREAD},
            )
        except Exception as error:  # Ray raises many kinds
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"no Ray cluster answers at '{address}' ({reason}): start one with 'ray start "
                "--head', or give the address of one that runs"
            ) from error
        self.task = ray.remote(num_cpus=1, max_retries=0)(attempt)
        self.active: dict[Any, Run] = {}

    def room(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0)) - len(self.active)

    def submit(self, run: Run) -> None:
        self.active[self.task.remote(as_job(run))] = run

    def answers(self, seconds: float) -> list[Answer]:
        if not self.active:
            return []
        ready, _ = self.ray.wait(list(self.active), num_returns=1, timeout=seconds)
        found: list[Answer] = []
        for task in ready:
            try:
                told = self.ray.get(task)
            except self.ray.exceptions.RayError as error:  # the worker or its node is gone
                told = {"error": f"{type(error).__name__}: the task's process or node was lost"}
            found.append((self.active.pop(task), told))
        return found

    def close(self) -> None:
        self.ray.shutdown()


def _refuse_silent(address: str) -> None:
    """Ray waits long for a host that does not answer; a plain connection tells at once."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdigit():
        raise InputError(f"'{address}' is no address of a Ray cluster: write host:port, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster answers at '{address}' ({error}): start one with 'ray start --head', "
            "or give the address of one that runs"
        ) from error
