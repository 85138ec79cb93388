"""Latency for one observation on one thread: exported ONNX, SB3's predict, SmoothActions.

Run with `make benchmark-interop`; the figures go to benchmarks/results/interop.json. The variants
take turns, and each figure is the median over the turns, so that a busy machine is unfair to none.
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
from policy_inertia.settings import settings
from policy_inertia.training.session import Session

RESULT = Path(__file__).parent / "results" / "interop.json"
TASK = "policy_inertia/TwoWay-v0"
TURNS, CALLS = 15, 400


class Still(gym.Env):
    """An env that does nothing: what is measured around it is the wrapper alone."""

    def __init__(self, like: gym.Env) -> None:
        self.observation_space, self.action_space = like.observation_space, like.action_space
        self.obs = like.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.obs, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.obs, 0.0, False, False, {}


def microseconds(variants: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median time of one call of each variant, in turns."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(TURNS):
        for name, call in variants.items():
            call()
            started = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name].append((time.perf_counter() - started) / CALLS * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def onnx_call(policy: Any, folder: str, name: str, obs: np.ndarray) -> Callable[[], object]:
    run = session(export(policy, Path(folder) / f"{name}.onnx").path)
    batch, prev = obs[None].astype(np.float32), np.array([0])
    feed = {"observation": batch, "previous_action": prev}
    return lambda: run.run(["action"], feed)


def main() -> None:
    torch.set_num_threads(1)
    env = gym.make(TASK)
    obs = env.reset(seed=0)[0]
    models = {"DQN": DQN("MlpPolicy", env, device="cpu"), "PPO": PPO("MlpPolicy", env)}
    ours = {
        name: Session(settings(name, TASK), TASK).policy() for name in ("dqn", "nsac", "dial-dqn")
    }
    variants: dict[str, Callable[[], object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            core = load_core(model, env).with_hysteresis(0.1)
            variants[f"SB3 {name}.predict"] = lambda m=model: m.predict(obs, deterministic=True)
            variants[f"SB3 {name} + hysteresis, ONNX"] = onnx_call(core, folder, name, obs)
        # a controller that has hardly learned costs as much as one that has
        brief = {"steps": 400, "episodes": 2, "calibration_episodes": 2, "learning_starts": 100}
        found_by = smooth(models["DQN"], TASK, out=Path(folder) / "smooth", **brief)
        gate = found_by.candidates["controller"].policy
        variants["SB3 DQN + smooth, ONNX"] = onnx_call(gate, folder, "gate", obs)
        for name, policy in ours.items():
            variants[f"our {name}.predict"] = lambda p=policy: p.predict(
                obs, (np.array([0]),), deterministic=True
            )
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
            wrapper.reset(seed=0)
            wrapper.step(0)
            # an agent that always asks for another action is what costs most
            variants[f"SmoothActions, {name}"] = lambda s=wrapper: s.step((s._prev + 1) % 5)
        found = microseconds(variants)
    for name in wrapped:
        found[f"SmoothActions, {name}"] -= found["bare step"]
    figures = {
        "task": TASK,
        "microseconds": found,
        "onnx_over_sb3": {
            name: found[f"SB3 {name} + hysteresis, ONNX"] / found[f"SB3 {name}.predict"]
            for name in models
        }
        | {"DQN, smooth": found["SB3 DQN + smooth, ONNX"] / found["SB3 DQN.predict"]},
    }
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    for name, value in found.items():
        print(f"{name:40} {value:8.1f} µs")
    for name, ratio in figures["onnx_over_sb3"].items():
        print(f"ONNX over SB3's predict, {name}: {ratio:.2f} (wanted: at most 0.3)")


if __name__ == "__main__":
    main()
