"""Time one observation on one thread: our `predict`, onnxruntime, the NumPy runtime, and C.

`make benchmark-small-computers` runs it and writes the figures to
benchmarks/results/small_computers.json. It needs a C compiler named `cc`. Times are
those of the processor, not of the clock, so other work on the machine does not count. The variants
take turns, and each figure is the median over the turns.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.machine import use_one_thread

use_one_thread()  # before NumPy is imported

# ruff: noqa: E402
import gymnasium as gym
import numpy as np

from policy_inertia import Policy, export, export_c, export_numpy
from policy_inertia.envs import highway  # noqa: F401 - registers the tasks
from policy_inertia.interop import numpy_runtime
from policy_inertia.interop.onnx_in import session
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session

RESULT = Path(__file__).parent / "results" / "small_computers.json"
TASK = "policy_inertia/TwoWay-v0"
METHODS = ("dqn", "nsac", "dial-dqn", "limit-dqn")
TURNS, CALLS = 15, 300

WRAPPER = """
#include "policy.c"
int32_t run(const float *observations, int rows, int calls);
int32_t run(const float *observations, int rows, int calls)
{
    policy_state state;
    int32_t sum = 0;
    policy_init(&state);
    for (int i = 0; i < calls; i++) {
        sum += policy_act(&state, observations + i % rows * POLICY_OBSERVATION_SIZE);
    }
    return sum;
}
"""


def observations(n: int = 30) -> np.ndarray:
    """Observations of random actions."""
    env = gym.make(TASK)
    env.action_space.seed(0)
    obs, _ = env.reset(seed=0)
    rows: list[np.ndarray] = []
    while len(rows) < n:
        rows.append(obs)
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            obs, _ = env.reset(seed=len(rows))
    return np.array(rows, np.float32)


def c_calls(policy: Policy, obs: np.ndarray, folder: Path) -> Callable[[], object]:
    """Compile a policy; return a function that makes `CALLS` calls inside C."""
    export_c(policy, folder / "policy.c")
    (folder / "wrapper.c").write_text(WRAPPER)
    command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "wrapper.c", "-o", "policy.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    library: Any = ctypes.CDLL(str(folder / "policy.so"))
    pointer = obs.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return lambda: library.run(pointer, len(obs), CALLS)


def python_calls(policy: Policy, obs: np.ndarray, folder: Path) -> dict[str, Callable[[], object]]:
    """The same for what is called from Python; the state goes from call to call."""
    state: Any = None
    run = session(export(policy, folder / "policy.onnx").path)
    names = [f"next_{name}" for name in policy.memory.initial(1) if name != "previous_action"]
    copy = numpy_runtime.Policy(str(export_numpy(policy, folder / "policy.npz").path))

    def predict() -> None:
        nonlocal state
        for i in range(CALLS):
            _, state = policy.predict(obs[i % len(obs)], state, deterministic=True)

    def onnx() -> None:
        memory = policy.memory.initial(1)
        for i in range(CALLS):
            row = i % len(obs)
            values = run.run(["action", *names], {"observation": obs[row : row + 1], **memory})
            memory = dict(zip(memory, values, strict=True))

    def numpy() -> None:
        for i in range(CALLS):
            copy.act(obs[i % len(obs)])

    return {"predict": predict, "onnxruntime": onnx, "NumPy runtime": numpy}


def microseconds(
    variants: dict[str, Callable[[], object]], turns: int = TURNS, calls: int = CALLS
) -> dict[str, float]:
    """Return the median processor time of one call of each variant; the variants take turns.

    Args:
        variants: functions that make `calls` calls each.
        turns: how often each variant is timed.
        calls: number of calls in a turn.
    """
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(turns):
        for name, run in variants.items():
            started = time.process_time()
            run()
            samples[name].append((time.process_time() - started) / calls * 1e6)
    return {name: statistics.median(times) for name, times in samples.items()}


def main() -> None:
    obs = observations()
    figures: dict[str, dict[str, float]] = {}
    for method in METHODS:
        policy = Session(settings(method, TASK, preset="paper"), TASK).policy()
        if policy.largest_burst is not None:
            policy = policy.with_limit(0.1, 2)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            variants = python_calls(policy, obs, folder) | {"C": c_calls(policy, obs, folder)}
            figures[method] = microseconds(variants)
    ratios = {
        method: {name: us / times["predict"] for name, us in times.items()}
        for method, times in figures.items()
    }
    text = {"task": TASK, "microseconds": figures, "over_predict": ratios}
    RESULT.write_text(json.dumps(text, indent=1) + "\n")
    for method, times in figures.items():
        print(method, ", ".join(f"{name} {us:.1f} µs" for name, us in times.items()))


if __name__ == "__main__":
    main()
