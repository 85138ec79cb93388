"""One run of a study, in whatever process it was given to: the pool's, or a cluster's."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from queue import Queue
from typing import Any

from ..threads import use_one_thread
from ..types import InputError

Job = dict[str, Any]
"""A run as JSON: its folder, its configuration, and thresholds of the filter to try after it."""


def attempt(job: Job) -> dict[str, Any]:
    """Carry out a run, or go on with it; what went wrong is told and not raised."""
    started = time.perf_counter()
    told: dict[str, Any] = {"error": None}
    try:
        _execute(job)
    except Exception as error:
        last = str(error).strip().splitlines() or [type(error).__name__]
        known = isinstance(error, InputError)
        told["error"] = last[-1] if known else f"{type(error).__name__}: {last[-1]}"
        told["traceback"] = traceback.format_exc()
    return told | {"seconds": time.perf_counter() - started}


def _execute(job: Job) -> None:
    import jax

    from ..checkpoint import Checkpoints
    from ..config import RunConfig
    from ..training import run

    config, path = RunConfig.from_dict(job["config"]), Path(job["path"])
    if not finished(path, config.steps):
        run(config, path, resume=True)
    filter_policies(path, config, job["hysteresis"])
    Checkpoints(path).remove()  # with its replay, much larger than all the rest
    jax.clear_caches()  # this run's programs are of no use to the next one


def finished(path: Path, steps: int) -> bool:
    from ..checkpoint import read_json

    result = path / "result.json"
    return result.exists() and bool(read_json(result, "a run's result")["step"] >= steps)


def filter_policies(path: Path, config: Any, thresholds: list[float]) -> None:
    """Evaluate the run's policy with hysteresis, on the episodes of its own last evaluation."""
    from ..checkpoint import FORMAT, write_json
    from ..envs import episode_seed
    from ..evaluation import evaluate
    from ..policy import Policy
    from ..session import FINAL

    found = read_filters(path, config.steps)
    for tau in thresholds:
        if repr(tau) in found:
            continue
        policy = Policy.load(path).with_hysteresis(tau)
        seed = episode_seed(config.seed, FINAL)
        kwargs = config.test_kwargs
        found[repr(tau)] = {
            name: evaluate(
                policy, config.env, config.final_episodes, seed, greedy, kwargs
            ).summary()
            for name, greedy in (("sampled", False), ("greedy", True))
        }
        about = {"format": FORMAT, "step": config.steps, "thresholds": found}
        write_json(path / "hysteresis.json", about)


def read_filters(path: Path, steps: int) -> dict[str, Any]:
    """What the filter gave so far, by threshold; nothing of a policy that has learnt on since."""
    from ..checkpoint import read_json

    file = path / "hysteresis.json"
    if not file.exists():
        return {}
    known = read_json(file, "a filter's results")
    return known["thresholds"] if known["step"] == steps else {}


def serve() -> None:
    """Be a worker: a job on each line of stdin, an answer on each line of stdout.

    An env may print as well, so answers have a channel of their own. When the study that
    started this process is gone, stdin ends, and so does the worker.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs: Queue[Job] = Queue()

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(json.loads(line))
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answers.write(json.dumps(attempt(jobs.get())) + "\n")
        answers.flush()


if __name__ == "__main__":
    use_one_thread()
    serve()
