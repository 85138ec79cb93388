"""Time the compiled Highway tasks and highway-env, on one core and in one run.

Both simulators run highway-env's settings (Lane Change with 45 others) with random actions, and
reset when an episode ends. Each measurement has its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.machine import use_one_thread

use_one_thread()

HERE = Path(__file__).parent
GOALS = {"LaneChange": 1000, "TwoWay": 600, "Merge": 600, "Intersection": 400}
BATCH = 16


def overrides(task: str, vehicles: int | None) -> dict[str, Any]:
    """Return the settings on top of highway-env's."""
    return {"vehicles_count": vehicles or 45} if task == "LaneChange" else {}


def theirs(task: str, seconds: float, vehicles: int | None = None) -> float:
    """Return highway-env's steps per second of CPU time."""
    import gymnasium as gym
    import highway_env  # noqa: F401 - registers its envs

    from policy_inertia.envs.highway import TASKS, configuration
    from policy_inertia.envs.highway.upstream.configuration import counterpart, exact_configuration

    config = configuration(TASKS[task], overrides(task, vehicles), preset="upstream")
    upstream_config = exact_configuration(TASKS[task], config)
    env: Any = gym.make(counterpart(TASKS[task]).id, config=upstream_config).unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        try:
            _, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        except ZeroDivisionError:  # highway-env's Two-Way, on the oncoming lane
            terminated, truncated = True, False
        steps += 1
        if terminated or truncated:
            env.reset()
    return steps / (time.process_time() - start)


def batch(task: str, vehicles: int | None = None, seed: int = 0) -> Any:
    """Return a function that steps a batch of our scenes once."""
    from policy_inertia.envs.highway import TrafficVectorEnv
    from policy_inertia.envs.spaces import Spaces

    envs = TrafficVectorEnv(BATCH, task, overrides(task, vehicles), preset="upstream")
    rng = np.random.default_rng(seed)
    envs.reset(seed=seed)
    n_actions = Spaces.of(envs.single_observation_space, envs.single_action_space, task).discrete.n

    def step() -> None:
        actions = rng.integers(n_actions, size=BATCH)
        _, _, terminated, truncated, _ = envs.step(actions)
        over = terminated | truncated
        if over.any():
            envs.reset(options={"reset_mask": over})

    for _ in range(5):  # compiles, or reads the cache
        step()
    return step


def ours(task: str, seconds: float, vehicles: int | None = None) -> float:
    """Return our steps per second of CPU time, in a batch."""
    step = batch(task, vehicles)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        step()
        steps += BATCH
    return steps / (time.process_time() - start)


def threads(task: str, seconds: float, workers: int) -> float:
    """Return our steps per second of wall time with some threads, each with its own batch."""
    steps = [batch(task, seed=k) for k in range(workers)]
    counts = [0] * workers
    end = time.perf_counter() + seconds

    def work(k: int) -> None:
        while time.perf_counter() < end:
            steps[k]()
            counts[k] += BATCH

    pool = [threading.Thread(target=work, args=(k,)) for k in range(workers)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return sum(counts) / seconds


def first_step(task: str, cache: str | None = None) -> float:
    """Return the seconds from nothing imported to the first step, in a new process."""
    code = (
        "import policy_inertia.envs.highway as h; "
        f"e = h.TrafficVectorEnv(1, {task!r}); e.reset(seed=0); e.step([0])"
    )
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    return time.perf_counter() - start


def nsac(seconds: float) -> dict[str, float]:
    """Train NSAC on Two-Way; return its steps per second and the share of time of each part."""
    from policy_inertia.run_settings import settings as run_settings
    from policy_inertia.training.session import Session

    name = "policy_inertia/TwoWay-v0"
    s = Session(run_settings("nsac", name, preset="paper", envs=64), name)
    while s.step < 3_000:
        s.advance()
    spent: dict[str, float] = {}

    def timed(owner: Any, method: str, label: str) -> None:
        inner = getattr(owner, method)

        def outer(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return inner(*args, **kwargs)
            finally:
                spent[label] = spent.get(label, 0.0) + time.perf_counter() - start

        setattr(owner, method, outer)

    timed(s.envs, "step", "simulate")
    timed(type(s.algorithm.behaviour), "act", "act")
    timed(s.replay, "add", "store")
    timed(s, "_learn", "update")
    start, before = time.perf_counter(), s.step
    while (elapsed := time.perf_counter() - start) < seconds:
        s.advance()
    return {
        "steps_per_second": (s.step - before) / elapsed,
        **{label: value / elapsed for label, value in spent.items()},
    }


MEASURES = {"theirs": theirs, "ours": ours, "threads": threads, "nsac": nsac}


def measured(*arguments: Any) -> Any:
    """Call one of MEASURES in a new process and return its result."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", *map(str, arguments)]
    environment = os.environ | {"PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    if process.returncode:
        raise SystemExit(f"{arguments} failed: {process.stderr.strip().splitlines()[-1]}")
    result = json.loads(process.stdout.strip().splitlines()[-1])
    print(f"  {' '.join(map(str, arguments))}: {result}", file=sys.stderr)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of each measurement")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "simulator.json")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        kind, *rest = args.one
        print(json.dumps(MEASURES[kind](*(json.loads(w) if w[0].isdigit() else w for w in rest))))  # type: ignore[operator]
        return
    cores = os.sched_getaffinity(0)
    figures: dict[str, Any] = {"two_threads": {}}
    for task in GOALS:
        one, two = (measured("threads", task, args.seconds, n) for n in (1, 2))
        figures["two_threads"][task] = two / one
    os.sched_setaffinity(0, {max(cores)})  # all later measurements run on one core
    figures["steps_per_second"] = {
        task: {who: measured(who, task, args.seconds) for who in ("ours", "theirs")}
        for task in GOALS
    }
    figures["growth"] = {
        n: {who: measured(who, "LaneChange", args.seconds, n) for who in ("ours", "theirs")}
        for n in (10, 200)
    }
    with tempfile.TemporaryDirectory() as cache:
        figures["first_step_cold"] = first_step("TwoWay", cache)
    first_step("TwoWay")
    figures["first_step_cached"] = first_step("TwoWay")
    figures["nsac"] = measured("nsac", args.seconds)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(report(figures))


def report(figures: dict[str, Any]) -> str:
    """Return the tables of docs/highway.md."""
    lines = [
        "| task | ours, steps/s | highway-env | ratio | wanted | two threads / one |",
        "|---|---|---|---|---|---|",
    ]
    for task, goal in GOALS.items():
        speed = figures["steps_per_second"][task]
        lines.append(
            f"| {task} | {speed['ours']:,.0f} | {speed['theirs']:.1f} | "
            f"{speed['ours'] / speed['theirs']:,.0f} | {goal:,} | "
            f"{figures['two_threads'][task]:.2f} |"
        )
    few, many = figures["growth"].values()
    lines += [
        "",
        f"From 10 to 200 others a step of Lane Change takes {few['ours'] / many['ours']:.0f} times "
        f"as long here, {few['theirs'] / many['theirs']:.0f} times in highway-env.",
        f"From nothing imported to the first step: {figures['first_step_cold']:.0f} s compiling, "
        f"{figures['first_step_cached']:.1f} s from the cache.",
    ]
    shares = figures["nsac"]
    parts = ", ".join(f"{k} {v:.0%}" for k, v in shares.items() if k != "steps_per_second")
    lines.append(
        f"NSAC on Two-Way, 64 envs, one update per two steps: {shares['steps_per_second']:,.0f} "
        f"steps/s ({parts})."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
