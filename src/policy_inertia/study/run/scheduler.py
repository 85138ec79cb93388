"""Carrying out a study: which run is next, where it goes, and what to do when one fails.

The runs are folders of their own that can be resumed, so nothing here has to be saved: the same
command looks at the folders and goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Protocol

from policy_inertia.envs.making import make_vector
from policy_inertia.errors import InputError
from policy_inertia.machine import ONE_THREAD
from policy_inertia.storage import read_json
from policy_inertia.study.folder import StudyFolder, collect
from policy_inertia.study.plan import Run, Study
from policy_inertia.study.results import Results
from policy_inertia.study.run import job as execution
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.run_folder import refuse_other

Watch = Callable[[Sequence[Run]], None]
Answer = tuple[Run, dict[str, Any]]
TRIES = 2  # a run that fails is tried once more


class Pool(Protocol):
    """Where runs are carried out."""

    def room(self) -> int:
        """How many more runs can be taken now."""

    def submit(self, run: Run) -> None: ...

    def answers(self, seconds: float) -> list[Answer]:
        """What has ended, waiting so long for the first: see `execution.attempt`."""

    def close(self) -> None: ...


def run_study(
    study: Study,
    out: str | os.PathLike[str],
    pool: Pool | None = None,
    watch: Watch | None = None,
    command: str = "",
) -> Results:
    """Carry out what is not finished of a study in the folder `out`, and gather all of it.

    The default pool has a process for each core. A run that fails twice is told in the results
    while the others go on.
    """
    path = Path(out).absolute()
    runs = study.runs(path)
    if not all(map(done, runs)):
        _refuse_bad_envs(study)  # before the folder: a bad env leaves nothing behind
    folder = StudyFolder(path, study, command)
    pool = pool or Workers()
    try:
        for r in runs:
            r.state = "done" if done(r) else "waiting"
        carry_out(runs, pool, watch or (lambda runs: None))
        folder.tell(runs)
        return collect(path)
    finally:
        pool.close()
        folder.close()


def done(r: Run) -> bool:
    """Whether this very run was carried out before."""
    about = r.path / "run.json"
    if about.exists():
        old = read_json(about, "a run's description")["config"]
        refuse_other(r.path, old, r.config.to_dict())
    return execution.finished(r.path, r.config.steps) and all(
        {repr(level) for level in getattr(r, kind)}
        <= execution.read_afterwards(r.path, r.config.steps, kind).keys()
        for kind in execution.AFTERWARDS
    )


def _refuse_bad_envs(study: Study) -> None:
    """A bad env is said once, here, and not by every run."""
    seen = []
    for _, line in study.lines():
        config = line.config(study.settings, study.seeds[0])
        for kwargs in (config.env_kwargs, config.test_kwargs):
            if (config.env, kwargs) not in seen:
                seen.append((config.env, kwargs))
                make_vector(config.env, 1, kwargs)[0].close()


def carry_out(runs: Sequence[Run], pool: Pool, watch: Watch) -> None:
    """Hand the waiting runs to the pool in order, and the failed ones once more at the end."""
    waiting = deque(r for r in runs if r.state == "waiting")
    active = 0
    looked = 0.0
    while waiting or active:
        while waiting and pool.room() > 0:
            r = waiting.popleft()
            r.tries, r.state, r.error = r.tries + 1, "running", None
            pool.submit(r)
            active += 1
        for r, told in pool.answers(0.2):
            active -= 1
            _look(r)
            r.seconds += told.get("seconds", 0.0)
            r.error, r.traceback = told["error"], told.get("traceback", "")
            if r.error is None:
                r.state = "done"
            elif r.tries < TRIES:
                r.state = "waiting"
                waiting.append(r)
            else:
                r.state = "failed"
        if time.monotonic() - looked > 0.5:
            for r in runs:
                if r.state == "running":
                    _look(r)
            looked = time.monotonic()
        watch(runs)


def _look(r: Run) -> None:
    """How far a run is, wherever it runs: its log tells."""
    records = read_metrics(r.path)
    if records:
        r.step, r.figures = records[-1]["step"], records[-1]


class Workers:
    """A process for each core, one thread each; a process takes one run after the other."""

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs is {jobs}: run at least one at a time, or leave it out")
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.idle: list[Worker] = []
        self.busy: dict[Worker, Run] = {}
        self.ended: Queue[tuple[Worker, dict[str, Any]]] = Queue()

    def room(self) -> int:
        return self.jobs - len(self.busy)

    def submit(self, run: Run) -> None:
        worker = self.idle.pop() if self.idle else Worker(self.ended)
        self.busy[worker] = run
        worker.give(as_job(run))

    def answers(self, seconds: float) -> list[Answer]:
        found: list[Answer] = []
        while True:
            try:
                worker, told = self.ended.get(timeout=0 if found else seconds)
            except Empty:
                return found
            if worker in self.busy:  # else an idle one has died: a new one is started when needed
                found.append((self.busy.pop(worker), told))
                if worker.process.poll() is None:
                    self.idle.append(worker)
            elif worker in self.idle:
                self.idle.remove(worker)

    def close(self) -> None:
        for worker in (*self.idle, *self.busy):
            worker.process.kill()
            worker.process.wait()
        self.idle, self.busy = [], {}


class Worker:
    """One process, and the threads that listen to it."""

    def __init__(self, ended: Queue[tuple[Worker, dict[str, Any]]]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", execution.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        self.last_words: deque[str] = deque(maxlen=20)
        for target in (self._complaints, lambda: self._answers(ended)):
            threading.Thread(target=target, daemon=True).start()

    def give(self, job: execution.Job) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died while idle: `_answers` tells

    def _complaints(self) -> None:
        for line in self.process.stderr or ():
            self.last_words.append(line)

    def _answers(self, ended: Queue[tuple[Worker, dict[str, Any]]]) -> None:
        for line in self.process.stdout or ():
            ended.put((self, json.loads(line)))
        code = self.process.wait()
        how = (
            f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
        )
        ended.put((self, {"error": f"its process {how}", "traceback": "".join(self.last_words)}))


def as_job(run: Run) -> execution.Job:
    levels = {kind: list(getattr(run, kind)) for kind in execution.AFTERWARDS}
    return {"path": str(run.path), "config": run.config.to_dict(), **levels}
