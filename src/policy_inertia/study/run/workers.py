"""Run the jobs of a study in processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, Queue
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.machine import ONE_THREAD
from policy_inertia.study.run import job
from policy_inertia.study.run.job import Job, Outcome, job_of

GRACE = 60.0
"""Seconds in which runs under way can save themselves when a study is stopped."""


class Workers:
    """A pool with one process for each core and one thread in each process.

    Args:
        jobs: Number of processes; by default one for each core.
        describe: Returns a run as the JSON that a process reads.
        module: The module that a process runs; it calls `job.serve`.
    """

    def __init__(
        self,
        jobs: int | None = None,
        describe: Callable[[Any], Job] = job_of,
        module: str = job.__name__,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs is {jobs}: run at least one at a time, or leave it out")
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._describe, self._module = describe, module
        self.idle: list[Worker] = []
        self.busy: dict[Worker, Any] = {}
        self._outcomes: Queue[tuple[Worker, Outcome]] = Queue()

    def free(self) -> int:
        return self.jobs - len(self.busy)

    def submit(self, run: Any) -> None:
        worker = self.idle.pop() if self.idle else Worker(self._outcomes, self._module)
        self.busy[worker] = run
        worker.send(self._describe(run))

    def outcomes(self, seconds: float) -> list[tuple[Any, Outcome]]:
        ended: list[tuple[Any, Outcome]] = []
        while True:
            try:
                worker, outcome = self._outcomes.get(timeout=0 if ended else seconds)
            except Empty:
                return ended
            if worker in self.busy:
                ended.append((self.busy.pop(worker), outcome))
                if worker.process.poll() is None:
                    self.idle.append(worker)
            elif worker in self.idle:  # an idle worker died: the next job starts a new one
                self.idle.remove(worker)

    def close(self) -> None:
        """End all processes; runs under way have some time to save themselves."""
        try:
            for worker in self.busy:
                worker.end()
            deadline = time.monotonic() + GRACE
            for worker in self.busy:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:  # at once after a second signal
            for worker in (*self.idle, *self.busy):
                worker.process.kill()
                worker.process.wait()
            self.idle, self.busy = [], {}


class Worker:
    """One process that runs job after job, and two threads that read its output."""

    def __init__(self, outcomes: Queue[tuple[Worker, Outcome]], module: str) -> None:
        # The thread variables must be set before NumPy is imported, so they go in the env.
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        self._stderr: deque[str] = deque(maxlen=20)
        for target in (self._read_stderr, lambda: self._read_outcomes(outcomes)):
            threading.Thread(target=target, daemon=True).start()

    def send(self, job: Job) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the process died while it was idle: `_read_outcomes` reports that

    def end(self) -> None:
        """Ask the process to save its run and to end."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def _read_stderr(self) -> None:
        for line in self.process.stderr or ():
            self._stderr.append(line)

    def _read_outcomes(self, outcomes: Queue[tuple[Worker, Outcome]]) -> None:
        for line in self.process.stdout or ():
            outcomes.put((self, Outcome(**json.loads(line))))
        code = self.process.wait()
        reason = (
            f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
        )
        outcomes.put((self, Outcome(f"its process {reason}", "".join(self._stderr))))
