"""Several methods over several seeds: one process a core, one table, one picture.

Every run is a folder of its own that can be resumed; this module starts them, watches them and
gathers what they measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .checkpoint import read_json
from .config import RunConfig, settings
from .envs import episode_seed, make_vector
from .evaluation import evaluate
from .policy import Policy
from .runs import read_metrics, refuse_other
from .session import FINAL
from .threads import ONE_THREAD
from .training import run
from .types import InputError


@dataclass
class Run:
    """One run of a comparison, as its process last reported it."""

    config: RunConfig
    path: Path
    step: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    done: bool = False

    def finished(self) -> bool:
        """Whether this very run was carried out before."""
        if not (self.path / "result.json").exists():
            return False
        old = read_json(self.path / "run.json", "a run's description")["config"]
        refuse_other(self.path, old, self.config.to_dict())
        return bool(
            read_json(self.path / "result.json", "a run's result")["step"] >= self.config.steps
        )


@dataclass(frozen=True)
class Row:
    """A line of the table: a method, and each figure's values over the seeds."""

    name: str
    sampled: list[dict[str, Any]]
    greedy: list[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """What a comparison found."""

    env: str
    rows: list[Row]
    runs: list[Run]

    @property
    def curves(self) -> dict[str, list[list[dict[str, Any]]]]:
        """Each method's evaluation records, a list for each seed."""
        curves: dict[str, list[list[dict[str, Any]]]] = {}
        for r in self.runs:
            if r.done:
                curves.setdefault(r.config.method, []).append(read_metrics(r.path))
        return curves


def compare(
    methods: Sequence[str],
    env: str,
    seeds: int = 3,
    out: str | os.PathLike[str] = "runs/compare",
    resume: bool = False,
    jobs: int | None = None,
    hysteresis: Sequence[float] = (),
    overrides: dict[str, dict[str, Any]] | None = None,
    watch: Callable[[list[Run]], None] | None = None,
    **changes: Any,
) -> Comparison:
    """Train each method with each seed and compare their final policies.

    `hysteresis` adds, for each threshold, the filtered policies of the methods that decide at every
    step. `overrides` maps a method's name to settings of its own; `changes` are for all.
    """
    out = Path(out)
    if not isinstance(env, str):
        raise InputError(
            f"env is {env}: a comparison runs in processes of its own, so register the env and "
            "give its id (package:Id)"
        )
    if not methods:
        raise InputError("no method is given: name at least one, such as dqn sac nsac")
    if seeds < 1:
        raise InputError(f"seeds is {seeds}: use at least one (five before you claim anything)")
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}: run at least one at a time, or leave it out")
    runs = []
    for name in dict.fromkeys(methods):
        for seed in range(seeds):
            own = {**changes, **(overrides or {}).get(name, {}), "seed": seed}
            runs.append(Run(settings(name, env, **own), out / name / f"seed-{seed}"))
    if not resume and any(r.path.exists() for r in runs):
        raise InputError(
            f"{out} holds a comparison already: add --resume to go on with it, or choose "
            "another --out"
        )
    make_vector(env, 1)[0].close()  # a bad env is said once, here, and not by every run
    carry_out(runs, jobs or len(os.sched_getaffinity(0)), watch)
    return gather(runs, env, hysteresis)


def carry_out(runs: list[Run], jobs: int, watch: Callable[[list[Run]], None] | None = None) -> None:
    """Run what is not finished, `jobs` at a time; a run that fails does not stop the others."""
    for r in runs:
        if r.finished():
            r.done, r.step = True, r.config.steps
    waiting = [r for r in runs if not r.done]
    active: list[tuple[Run, subprocess.Popen[str], list[threading.Thread]]] = []
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.append(_start(waiting.pop(0)))
            for r, process, threads in list(active):
                try:
                    process.wait(0.2 / len(active))
                except subprocess.TimeoutExpired:
                    continue
                for thread in threads:
                    thread.join()
                r.done = process.returncode == 0
                if not r.done and r.error is None:
                    r.error = f"its process ended with code {process.returncode}"
                active.remove((r, process, threads))
            if watch is not None:
                watch(runs)
    finally:
        for _, process, _ in active:
            process.kill()


def _start(r: Run) -> tuple[Run, subprocess.Popen[str], list[threading.Thread]]:
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(r.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(json.dumps(r.config.to_dict()))

    def progress() -> None:
        for line in process.stdout or ():
            with contextlib.suppress(ValueError, KeyError, TypeError):  # an env may print as well
                message = json.loads(line)
                r.step, r.figures = message["step"], message["figures"]

    def errors() -> None:
        lines = [line.strip() for line in process.stderr or () if line.strip()]
        if lines:
            r.error = lines[-1]

    threads = [threading.Thread(target=t, daemon=True) for t in (progress, errors)]
    for thread in threads:
        thread.start()
    return r, process, threads


def gather(runs: list[Run], env: str, hysteresis: Sequence[float] = ()) -> Comparison:
    """The table of the runs that are done, with the filtered policies where asked for."""
    rows = []
    for name in dict.fromkeys(r.config.method for r in runs):
        done = [r for r in runs if r.config.method == name and r.done]
        if not done:
            continue
        results = [read_json(r.path / "result.json", "a run's result") for r in done]
        rows.append(Row(name, [r["sampled"] for r in results], [r["greedy"] for r in results]))
        if done[0].config.repeats != (1,):
            continue  # it holds its actions by itself
        for tau in hysteresis:
            found: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
            for r in done:
                policy = Policy.load(r.path).with_hysteresis(tau)
                for greedy, figures in found.items():
                    episodes = r.config.final_episodes
                    seed = episode_seed(r.config.seed, FINAL)
                    figures.append(evaluate(policy, env, episodes, seed, greedy).summary())
            rows.append(Row(f"{name} + hysteresis {tau:g}", found[False], found[True]))
    return Comparison(env, rows, runs)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half-width of the 95% t-interval over seeds (NaN for a single seed)."""
    from scipy import stats

    n = len(values)
    if n < 2:
        return float(np.mean(values)), float("nan")
    return float(np.mean(values)), float(
        stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    )


def _worker() -> None:
    """Carry out one run: its folder is the argument, its configuration comes on stdin."""
    config = RunConfig.from_dict(json.loads(sys.stdin.read()))

    def progress(step: int, figures: dict[str, Any], speed: float) -> None:
        print(json.dumps({"step": step, "figures": figures}), flush=True)

    try:
        run(config, sys.argv[1], resume=True, progress=progress)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _worker()
