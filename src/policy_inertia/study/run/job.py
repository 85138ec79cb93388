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

from policy_inertia.errors import InputError
from policy_inertia.machine import use_one_thread

Job = dict[str, Any]
"""A run as JSON: its folder, its configuration, and what to measure of its policy afterwards."""

ASKED = ("hysteresis", "budgets")
"""Thresholds of the filter; and budgets of oscillation, which a dial keeps by its price and any
other policy by the filter, as calibrated on episodes of their own."""
AFTERWARDS = (*ASKED, "core_budgets")
"""And the same budgets for a dial's core by itself."""


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

    from policy_inertia.settings import RunConfig
    from policy_inertia.training.checkpoints import Checkpoints
    from policy_inertia.training.loop import run

    config, path = RunConfig.from_dict(job["config"]), Path(job["path"])
    if not finished(path, config.steps):
        run(config, path, resume=True)
    for kind in AFTERWARDS:
        measure_afterwards(path, config, kind, job[kind])
    Checkpoints(path).remove()  # with its replay, much larger than all the rest
    jax.clear_caches()  # this run's programs are of no use to the next one


def finished(path: Path, steps: int) -> bool:
    from policy_inertia.storage import read_json

    result = path / "result.json"
    return result.exists() and bool(read_json(result, "a run's result")["step"] >= steps)


def measure_afterwards(path: Path, config: Any, kind: str, levels: list[float]) -> None:
    """Evaluate the run's policy at each of `levels`, on the episodes of its own last evaluation.

    A budget that the policy cannot keep is told as "unreachable", with the reason.
    """
    from policy_inertia.calibration.sweep import calibrate
    from policy_inertia.envs.vector import episode_seed
    from policy_inertia.evaluation.evaluate import sampled_and_greedy
    from policy_inertia.policies.policy import Policy
    from policy_inertia.storage import FORMAT, write_json
    from policy_inertia.training.session import FINAL

    found = read_afterwards(path, config.steps, kind)
    missing = [level for level in levels if repr(level) not in found]
    if not missing:
        return
    policy = Policy.load(path)
    if kind == "core_budgets":
        policy = policy.core()
    if kind != "hysteresis" and policy.calibration is None:
        episodes = config.calibration_episodes
        policy = calibrate(policy, config.env, episodes, config.seed, env_kwargs=config.test_kwargs)
    seed = episode_seed(config.seed, FINAL)
    for level in missing:
        try:
            hysteresis = kind == "hysteresis"
            made = policy.with_hysteresis(level) if hysteresis else policy.with_budget(level)
        except InputError as error:
            if kind == "hysteresis":
                raise
            found[repr(level)] = {"unreachable": str(error)}
        else:
            found[repr(level)] = sampled_and_greedy(
                made, config.env, config.final_episodes, seed, env_kwargs=config.test_kwargs
            )
            if kind != "hysteresis" and policy.calibration is not None:
                row = policy.calibration.within(level)
                found[repr(level)]["calibrated_return"] = row.figures["return"]
        write_json(path / f"{kind}.json", {"format": FORMAT, "step": config.steps, "levels": found})


def read_afterwards(path: Path, steps: int, kind: str) -> dict[str, Any]:
    """What was measured so far, by level; nothing of a policy that has learnt on since."""
    from policy_inertia.storage import read_json

    file = path / f"{kind}.json"
    if not file.exists():
        return {}
    known = read_json(file, f"a run's {kind}")
    return known["levels"] if known["step"] == steps else {}


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
