"""Save a checkpoint in processes that die at their first, second, ... call that changes a disk.

    python -m tests.support.kill_windows FOLDER

Prints one line for each process: the call at which it died, and as JSON what was loaded before,
afterwards, and afterwards if the newest checkpoint is damaged. This is a program of its own,
because it forks, which is not safe beside JAX's threads.
"""

import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.training.checkpoints import Checkpoints
from tests.support.runs import flip_bit, newest

CALLS = ("open", "write", "fsync", "replace", "mkdir", "unlink", "rmdir")


def save(checkpoints: Checkpoints, step: int) -> None:
    """Save a checkpoint whose every file depends on its step."""
    records = {"frames": np.full(500, step, np.uint8), "rows": np.full(9, step)}
    checkpoints.save(str(step), {"x": np.array([step])}, records, {"step": step})


def load(run: Path) -> tuple[Checkpoints, int]:
    """The step of the checkpoint that is loaded; a warning or a mixture of two is an error."""
    checkpoints = Checkpoints(run)
    checkpoint = checkpoints.load()
    assert checkpoint is not None
    assert isinstance(checkpoint.records, dict)
    parts = [checkpoint.arrays["x"], *checkpoint.records.values()]
    steps = {checkpoint.state["step"], *np.concatenate(parts).tolist()}
    assert len(steps) == 1, steps
    return checkpoints, steps.pop()


def step_without_the_newest(run: Path) -> int:
    """The step of the checkpoint that is loaded when the newest is damaged."""
    copy = run.with_name("damaged")
    shutil.copytree(run, copy)
    flip_bit(newest(copy) / "state.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = load(copy)[1]
    shutil.rmtree(copy)
    return step


def die_at(call: int) -> None:
    """Kill this process before the given call; of a write, half is done first."""
    count = 0

    def deadly(name: str) -> Callable[..., Any]:
        real, half = getattr(os, name), os.write

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == call:
                if name == "write":
                    half(args[0], args[1][: len(args[1]) // 2])
                half(1, f"died at {name}: ".encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return wrapper

    for name in CALLS:
        setattr(os, name, deadly(name))


def main(run: Path) -> None:
    """Kill a process at every call of a save, until one survives it."""
    warnings.simplefilter("error")
    checkpoints = Checkpoints(run)
    save(checkpoints, 1)
    save(checkpoints, 2)
    step, call, survived = 2, 1, False
    while not survived:
        checkpoints, last = load(run)
        assert last >= step
        step = last
        child = os.fork()
        if child == 0:
            die_at(call)
            save(checkpoints, step + 1)
            os._exit(0)
        survived = os.waitpid(child, 0)[1] == 0
        steps = {"before": step, "after": load(run)[1], "older": step_without_the_newest(run)}
        names = sorted(path.name for path in run.glob("checkpoint-*"))
        print(json.dumps({**steps, "folders": names}), flush=True)
        call += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
