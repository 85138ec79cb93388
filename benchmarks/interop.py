"""Time one observation on one thread: exported ONNX, SB3's predict, and SmoothActions.

`make benchmark-interop` runs it and writes the figures to benchmarks/results/interop.json. The
variants take turns, and each figure is the median over the turns, so a busy machine slows all
alike.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.machine import use_one_thread

use_one_thread()  # before NumPy and torch are imported

# ruff: noqa: E402
import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN, PPO

from policy_inertia import SmoothActions, load_core, smooth
from policy_inertia.envs import highway  # noqa: F401 - registers the tasks
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_out import export
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session

RESULT = Path(__file__).parent / "results" / "interop.json"
TASK = "policy_inertia/TwoWay-v0"
TURNS, CALLS = 15, 400


class Still(gym.Env):
    """An env that does nothing, so that only the wrapper around it takes time."""

    def __init__(self, like: gym.Env) -> None:
        self.observation_space, self.action_space = like.observation_space, like.action_space
        self.obs = like.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.obs, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.obs, 0.0, False, False, {}


def microseconds(variants: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median time of one call of each variant; the variants take turns."""
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(TURNS):
        for name, call in variants.items():
            call()
            started = time.perf_counter()
            for _ in range(CALLS):
                call()
            samples[name].append((time.perf_counter() - started) / CALLS * 1e6)
    return {name: statistics.median(times) for name, times in samples.items()}


def onnx_call(policy: Any, folder: str, name: str, obs: np.ndarray) -> Callable[[], object]:
    """Export a policy; return a call that runs the ONNX file."""
    run = session(export(policy, Path(folder) / f"{name}.onnx").path)
    batch, prev = obs[None].astype(np.float32), np.array([0])
    feed = {"observation": batch, "previous_action": prev}
    return lambda: run.run(["action"], feed)


def predict_call(policy: Any, obs: np.ndarray, state: Any = None) -> Callable[[], object]:
    return lambda: policy.predict(obs, state, deterministic=True)


def step_call(wrapper: SmoothActions) -> Callable[[], object]:
    """A call that steps with another action each time, which costs the wrapper most."""
    wrapper.reset(seed=0)
    taken = wrapper.step(0)[-1]["action_taken"]

    def step() -> None:
        nonlocal taken
        taken = wrapper.step((taken + 1) % 5)[-1]["action_taken"]

    return step


def main() -> None:
    torch.set_num_threads(1)
    env = gym.make(TASK)
    obs = env.reset(seed=0)[0]
    models = {"DQN": DQN("MlpPolicy", env, device="cpu"), "PPO": PPO("MlpPolicy", env)}
    ours = {
        name: Session(settings(name, TASK, preset="paper"), TASK).policy()
        for name in ("dqn", "nsac", "dial-dqn")
    }
    variants: dict[str, Callable[[], object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            core = load_core(model, env).with_hysteresis(0.1)
            variants[f"SB3 {name}.predict"] = predict_call(model, obs)
            variants[f"SB3 {name} + hysteresis, ONNX"] = onnx_call(core, folder, name, obs)
        # a controller costs the same time however long it was trained
        brief: dict[str, Any] = {"calibration_episodes": 2, "learning_starts": 100}
        result = smooth(
            models["DQN"],
            TASK,
            steps=400,
            episodes=2,
            train=True,
            out=Path(folder) / "smooth",
            **brief,
        )
        gate = result.candidates["controller"].policy
        variants["SB3 DQN + smooth, ONNX"] = onnx_call(gate, folder, "gate", obs)
        for name, policy in ours.items():
            state = {PREVIOUS_ACTION: np.array([0])}
            variants[f"our {name}.predict"] = predict_call(policy, obs, state)
            variants[f"our {name}, ONNX"] = onnx_call(policy, folder, name, obs)
        still = Still(env)
        wrapped = {
            "hysteresis on our dqn": SmoothActions(still, ours["dqn"], hysteresis=0.1),
            "hysteresis on SB3's DQN": SmoothActions(
                still, load_core(models["DQN"], env), hysteresis=0.1
            ),
            "inertia of nsac": SmoothActions(still, ours["nsac"]),
            "gate of dial-dqn": SmoothActions(still, ours["dial-dqn"]),
        }
        variants["bare step"] = lambda: still.step(1)
        for name, wrapper in wrapped.items():
            variants[f"SmoothActions, {name}"] = step_call(wrapper)
        times = microseconds(variants)
    for name in wrapped:
        times[f"SmoothActions, {name}"] -= times["bare step"]
    ratios = {
        name: times[f"SB3 {name} + hysteresis, ONNX"] / times[f"SB3 {name}.predict"]
        for name in models
    }
    ratios["DQN, smooth"] = times["SB3 DQN + smooth, ONNX"] / times["SB3 DQN.predict"]
    figures = {"task": TASK, "microseconds": times, "onnx_over_sb3": ratios}
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    for name, value in times.items():
        print(f"{name:40} {value:8.1f} µs")
    for name, ratio in ratios.items():
        print(f"ONNX over SB3's predict, {name}: {ratio:.2f} (goal: at most 0.3)")


if __name__ == "__main__":
    main()
