"""Time one observation with continuous actions on one thread: SB3's predict, and ours with filters.

`make benchmark-continuous` runs it and writes the figures to benchmarks/results/continuous.json. It
needs a C compiler named `cc`. Times are those of the processor, not of the clock, so other work on
the machine counts less. The variants take turns, and each figure is the median over the turns.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.machine import use_one_thread

use_one_thread()  # before NumPy and torch are imported

# ruff: noqa: E402
import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import TQC, TRPO
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3

from policy_inertia import ContinuousCore, export, export_c, export_numpy, load_core
from policy_inertia.interop import numpy_runtime
from policy_inertia.interop.onnx_in import session
from policy_inertia.policies.action_filters import rule_table
from small_computers import microseconds

RESULT = Path(__file__).parent / "results" / "continuous.json"
TASK = "Pendulum-v1"
SMALL: dict[str, Any] = {"buffer_size": 10}
ALGORITHMS: dict[Any, dict[str, Any]] = {
    SAC: SMALL,
    TQC: SMALL,
    TD3: SMALL,
    DDPG: SMALL,
    PPO: {},
    A2C: {},
    TRPO: {},
}
"""With their own default networks; time does not depend on training."""
TURNS, CALLS = 11, 200
LIMIT = (0.05, 0.5)
SETTINGS: dict[str, dict[str, float]] = {
    "exponential": {"alpha": 0.3},
    "butterworth": {"cutoff": 0.2},
    "dead_band": {"width": 0.05},
    "rate_limit": {"rate": 0.05},
    "one_euro": {"min_cutoff": 0.05},
    "movement_limit": {"rate": LIMIT[0], "burst": LIMIT[1]},
}

WRAPPER = """
#include "policy.c"
void run(const float *observations, int rows, int calls);
void run(const float *observations, int rows, int calls)
{
    policy_state state;
    float action[POLICY_ACTION_SIZE];
    policy_init(&state);
    for (int i = 0; i < calls; i++) {
        policy_act(&state, observations + i % rows * POLICY_OBSERVATION_SIZE, action);
    }
}
"""


def observations(n: int = 30) -> np.ndarray:
    """Observations of random actions."""
    env = gym.make(TASK)
    env.action_space.seed(0)
    rows = [env.reset(seed=0)[0]]
    while len(rows) < n:
        rows.append(env.step(env.action_space.sample())[0])
    return np.array(rows, np.float32)


def predict_calls(policy: Any, obs: np.ndarray) -> Callable[[], object]:
    """`CALLS` calls of `predict`; the state goes from call to call."""

    def calls() -> None:
        state = None
        for i in range(CALLS):
            _, state = policy.predict(obs[i % len(obs)], state, deterministic=True)

    return calls


def exported_calls(
    policy: ContinuousCore, obs: np.ndarray, folder: Path
) -> dict[str, Callable[[], object]]:
    """The same for each kind of exported file."""
    run = session(export(policy, folder / "policy.onnx").path)
    copy = numpy_runtime.Policy(str(export_numpy(policy, folder / "policy.npz").path))
    initial = policy.memory.initial(1)
    initial["previous_action"] = policy.actions.to_env(initial["previous_action"])
    names = ["action" if name == "previous_action" else f"next_{name}" for name in initial]
    export_c(policy, folder / "policy.c")
    (folder / "wrapper.c").write_text(WRAPPER)
    command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "wrapper.c", "-o", "policy.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    library: Any = ctypes.CDLL(str(folder / "policy.so"))
    pointer = obs.ctypes.data_as(ctypes.POINTER(ctypes.c_float))

    def onnx() -> None:
        memory = initial
        for i in range(CALLS):
            row = i % len(obs)
            values = run.run(names, {"observation": obs[row : row + 1], **memory})
            memory = dict(zip(initial, values, strict=True))

    def numpy() -> None:
        for i in range(CALLS):
            copy.act(obs[i % len(obs)])

    return {
        "onnxruntime": onnx,
        "NumPy runtime": numpy,
        "C": lambda: library.run(pointer, len(obs), CALLS),
    }


def variants_of(model: Any, obs: np.ndarray, folder: Path) -> dict[str, Callable[[], object]]:
    """SB3's own predict, and ours with every filter, with filter and limit, and exported."""
    core = load_core(model)
    variants = {"SB3": predict_calls(model, obs), "no filter": predict_calls(core, obs)}
    for name, settings in SETTINGS.items():
        rule = rule_table.from_dict({"name": name, **settings})
        variants[name] = predict_calls(core.with_filter(rule), obs)
    smooth = core.with_filter(rule_table.from_dict({"name": "exponential", "alpha": 0.3}))
    both = smooth.with_limit(*LIMIT)
    variants["exponential and limit"] = predict_calls(both, obs)
    for name, calls in exported_calls(both, obs, folder).items():
        variants[f"exponential and limit, {name}"] = calls
    return variants


def main() -> None:
    torch.set_num_threads(1)
    obs = observations()
    figures: dict[str, dict[str, float]] = {}
    for algorithm, settings in ALGORITHMS.items():
        model = algorithm("MlpPolicy", TASK, device="cpu", seed=0, **settings)
        with tempfile.TemporaryDirectory() as folder:
            variants = variants_of(model, obs, Path(folder))
            figures[algorithm.__name__] = microseconds(variants, TURNS, CALLS)
    ratios = {
        name: {variant: us / times["SB3"] for variant, us in times.items() if variant != "SB3"}
        for name, times in figures.items()
    }
    text = {"task": TASK, "microseconds": figures, "over_sb3": ratios}
    RESULT.write_text(json.dumps(text, indent=1) + "\n")
    for name, times in figures.items():
        shown = ", ".join(f"{variant} {ratios[name][variant]:.2f}" for variant in ratios[name])
        print(f"{name}: SB3's predict takes {times['SB3']:.0f} µs; of that, {shown}")
    print("goal: predict with a filter takes at most 0.5 of it")


if __name__ == "__main__":
    main()
