"""Time the learner beside other libraries, and beside the matrix products of its own updates.

Every library trains on CartPole-v1 with 64-64 networks, batches of 64 and one update per two steps.
Each one runs on one core, in its own process, one after the other, at its best number of envs.
`make benchmark` runs everything, prints a table and writes the figures to a JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.machine import use_one_thread

use_one_thread()

HERE = Path(__file__).parent
OURS: dict[str, tuple[int, ...]] = {
    "dqn": (64, 256, 512),
    "sac": (64, 256),
    "nsac": (64, 256),
}
"""Our methods, with the numbers of envs to try."""
PEERS: dict[str, tuple[int, ...]] = {
    "sb3-dqn": (8, 64),
    "sbx-dqn": (64, 256, 512),
    "tianshou-dqn": (8,),
    "tianshou-sac": (8,),
    "torchrl-sac": (8, 64),
}
"""Other libraries, with the numbers of envs to try; see peers.py."""


def session(method: str, envs: int, **changes: Any) -> Any:
    """Start a training session on CartPole-v1 with the settings of the peers."""
    from policy_inertia.run_settings import settings
    from policy_inertia.training.session import Session

    base: dict[str, Any] = {"envs": envs, "learning_starts": 1_000}
    if method == "dqn":  # constant epsilon, and a new target every 10,000 steps
        base |= {"epsilon_decay": 1.0, "epsilon_final": 0.05, "target_period": 5_000}
        base |= {"learning_rate": 3e-4}
    env = changes.pop("env", "CartPole-v1")
    return Session(settings(method, "CartPole-v1", preset="paper", **base, **changes), env)


def train_speed(method: str, envs: int, seconds: float) -> dict[str, float]:
    """Measure steps per second, after a warm-up that compiles everything."""
    s = session(method, envs)
    while s.step < 4_000:
        s.advance()
    start, step, updates = time.perf_counter(), s.step, s.updates
    while (elapsed := time.perf_counter() - start) < seconds:
        s.advance()
    return {
        "steps_per_second": (s.step - step) / elapsed,
        "updates_per_step": (s.updates - updates) / (s.step - step),
    }


def time_update(method: str, repeats: int = 30) -> dict[str, float]:
    """Time one update in microseconds, within calls of 128 updates; the best call counts."""
    s = session(method, 256)
    while s.step < 2_560:
        s.advance()
    s._due[:] = True
    best = min(_timed(lambda: s.learner.update(s._words, s._due, 128)) for _ in range(repeats))
    return {"us": best / 128 * 1e6}


def time_products(obs_dim: int = 4, n_actions: int = 2, repeats: int = 30) -> dict[str, float]:
    """Time the matrix products of one NSAC update alone, in microseconds."""
    import jax
    import numpy as np
    from jax import lax
    from jax import numpy as jnp

    batch, hidden = 64, 64
    rng = np.random.default_rng(0)
    dots: list[list[Any]] = []

    def add(a: tuple[int, int], b: tuple[int, int], twins: int) -> None:
        for _ in range(twins):
            dots.append([jnp.asarray(rng.normal(0, 1, s), jnp.float32) for s in (a, b)])  # noqa: PERF401

    def forward(inputs: int, outputs: int, twins: int = 1) -> None:
        add((batch, inputs), (inputs, hidden), twins)
        add((batch, hidden), (hidden, hidden), twins)
        add((batch, hidden), (hidden, outputs), twins)

    def backward(inputs: int, outputs: int, twins: int = 1) -> None:
        add((hidden, batch), (batch, outputs), twins)  # gradients of the three weights
        add((hidden, batch), (batch, hidden), twins)
        add((inputs, batch), (batch, hidden), twins)
        add((batch, outputs), (outputs, hidden), twins)  # and of the two hidden layers
        add((batch, hidden), (hidden, hidden), twins)

    joint = obs_dim + n_actions
    forward(obs_dim, n_actions)  # core actor at s'
    forward(obs_dim, n_actions, 2)  # core targets at s'
    forward(obs_dim, n_actions, 2)  # core critics at s
    backward(obs_dim, n_actions, 2)
    forward(obs_dim, n_actions, 2)  # improved core critics at s
    forward(obs_dim, n_actions)  # core actor at s
    backward(obs_dim, n_actions)
    forward(obs_dim, n_actions)  # improved core actor at s and s'
    forward(obs_dim, n_actions)
    forward(joint, 1)  # controller at s'
    forward(joint, n_actions, 2)  # mixed targets at s'
    forward(joint, n_actions, 2)  # mixed critics at s
    backward(joint, n_actions, 2)
    forward(joint, n_actions, 2)  # improved mixed critics at s
    forward(joint, 1)  # controller at s
    backward(joint, 1)

    def body(i: Any, carry: Any) -> Any:
        inputs, _ = carry
        # without the barrier, XLA would move the products out of the loop or drop them
        return lax.optimization_barrier((inputs, [a @ b for a, b in inputs]))

    run = jax.jit(lambda c: lax.fori_loop(0, 128, body, c))
    carry = (dots, [a @ b for a, b in dots])
    jax.block_until_ready(run(carry))
    best = min(_timed(lambda: jax.block_until_ready(run(carry))) for _ in range(repeats))
    return {"us": best / 128 * 1e6, "products": len(dots)}


def time_predict(method: str, calls: int = 2_000, warmup: int = 200) -> dict[str, float]:
    """Time one deterministic `predict` on one observation, in microseconds; the median counts."""
    import numpy as np

    from policy_inertia.policies.memory import PREVIOUS_ACTION

    policy = session(method, 1).policy()
    obs, state, times = np.zeros(4, np.float32), {PREVIOUS_ACTION: np.array([1])}, []
    for _ in range(warmup + calls):
        start = time.perf_counter()
        policy.predict(obs, state, deterministic=True)
        times.append(time.perf_counter() - start)
    return {"median_us": 1e6 * statistics.median(times[warmup:])}


def peak_memory() -> dict[str, float]:
    """Measure the resident memory of an NSAC run with a full replay of 200,000 x 50 floats."""
    import gymnasium as gym
    import numpy as np

    from policy_inertia.types import Transition

    class Wide(gym.Env[np.ndarray, np.int64]):
        """An env with 50 numbers per observation, which never changes."""

        observation_space = gym.spaces.Box(-1, 1, (50,), np.float32)
        action_space = gym.spaces.Discrete(5)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.observation_space.low, {}

        def step(self, action: Any) -> Any:
            return self.observation_space.low, 0.0, False, False, {}

    s = session("nsac", 64, env=Wide)
    obs, zero = np.ones((10_000, 50)), np.zeros(10_000)
    for _ in range(20):
        s.replay.add(Transition(obs, zero, zero, zero, zero, obs))
    for _ in range(50):
        s.advance()
    assert len(s.replay) == 200_000
    return {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _timed(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


MEASUREMENTS: dict[str, Callable[..., dict[str, float]]] = {
    "speed": train_speed,
    "update": time_update,
    "limit": time_products,
    "predict": time_predict,
    "memory": peak_memory,
}


def call(command: list[Any], label: str) -> dict[str, Any]:
    """Run a measurement in its own process; the last line that it prints is a JSON object."""
    print(f"  {label} ...", end="", flush=True, file=sys.stderr)
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if process.returncode:
        print(f" failed: {process.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    figures: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    print(f" {figures}", file=sys.stderr)
    return figures


def in_own_process(*arguments: Any) -> dict[str, Any]:
    """Run one of `MEASUREMENTS` in its own process."""
    label = " ".join(map(str, arguments))
    return call([sys.executable, __file__, "--own", *arguments], label)


def measure_speed(peers: str | None, seconds: float, rounds: int) -> dict[str, dict[int, float]]:
    """Measure steps per second of each library for several numbers of envs; the best counts."""
    speed: dict[str, dict[int, float]] = {}

    def counts_to_try(name: str, counts: tuple[int, ...]) -> list[int]:
        """All numbers of envs in the first round, then only the best one."""
        known = speed.get(name)
        return [max(known, key=lambda n: known[n])] if known else list(counts)

    def record(name: str, n: int, figures: dict[str, Any]) -> None:
        best = speed.setdefault(name, {})
        best[n] = max(figures.get("steps_per_second", 0.0), best.get(n, 0.0))

    for _ in range(rounds):  # the libraries take turns, so a slow minute of the machine slows all
        for method, counts in OURS.items():
            for n in counts_to_try(f"ours-{method}", counts):
                record(f"ours-{method}", n, in_own_process("speed", method, n, seconds))
        for peer, counts in PEERS.items() if peers else ():
            for n in counts_to_try(peer, counts):
                command: list[Any] = [peers, "-W", "ignore", HERE / "peers.py", peer]
                command += ["--envs", n, "--seconds", seconds]
                record(peer, n, call(command, f"{peer} {n}"))
    return speed


def measure(peers: str | None, seconds: float, rounds: int) -> dict[str, Any]:
    """Run all measurements; `peers` is the Python of an environment that has the peers."""
    figures: dict[str, Any] = {"speed": measure_speed(peers, seconds, rounds)}
    figures["update_us"] = {m: in_own_process("update", m)["us"] for m in OURS}
    figures["nsac_matmul_us"] = in_own_process("limit")["us"]
    figures["predict_us"] = {m: in_own_process("predict", m)["median_us"] for m in OURS}
    figures["memory_mb"] = in_own_process("memory")["mb"]
    if peers:
        command = [peers, "-W", "ignore", HERE / "peers.py", "sb3-predict"]
        figures["predict_us"]["sb3-dqn"] = call(command, "sb3-predict")["median_us"]
    figures["machine"] = f"{platform.machine()}, one core, Python {platform.python_version()}"
    return figures


def report(figures: dict[str, Any]) -> str:
    """Write the tables of docs/performance.md."""
    lines = ["| library and method | envs | steps/s |", "|---|---|---|"]
    best: dict[str, float] = {}
    for name, counts in figures["speed"].items():
        n = max(counts, key=lambda k: counts[k])
        best[name] = counts[n]
        lines.append(f"| {name} | {n} | {counts[n]:,.0f} |")

    def fastest(kind: str) -> float:
        return max((v for k, v in best.items() if kind in k and "ours" not in k), default=0.0)

    rows = [("one NSAC update / its matrix products alone",
             figures["update_us"]["nsac"] / figures["nsac_matmul_us"], "<= 2")]  # fmt: skip
    if fastest("dqn") and fastest("sac"):
        rows += [
            ("our DQN / the fastest peer", best["ours-dqn"] / fastest("dqn"), ">= 1.2"),
            ("our SAC / the fastest discrete SAC", best["ours-sac"] / fastest("sac"), ">= 10"),
            ("our NSAC / the fastest discrete SAC", best["ours-nsac"] / fastest("sac"), ">= 5"),
        ]
        sb3 = figures["predict_us"]["sb3-dqn"]
        rows += [
            ("predict, NSAC / SB3's DQN", figures["predict_us"]["nsac"] / sb3, "<= 0.5"),
            ("predict, DQN / SB3's DQN", figures["predict_us"]["dqn"] / sb3, "<= 0.5"),
        ]
    rows.append(("resident memory of an NSAC run, GB", figures["memory_mb"] / 1024, "< 1"))
    lines += ["", "| ratio | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {value:.2f} | {goal} |" for name, value, goal in rows]
    us = ", ".join(f"{m.upper()} {v:.0f} µs" for m, v in figures["update_us"].items())
    predict = ", ".join(f"{m} {v:.0f} µs" for m, v in figures["predict_us"].items())
    products = figures["nsac_matmul_us"]
    lines += ["", f"One update: {us}. The matrix products of an NSAC update: {products:.0f} µs."]
    lines += [f"One predict: {predict}.", f"Measured on {figures['machine']}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="the Python of an environment that has the peers")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="seconds of each speed measurement"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds over all libraries; the best one counts"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "learner.json")
    parser.add_argument("--own", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.own:
        kind, *rest = args.own
        values = [json.loads(text) if text[0].isdigit() else text for text in rest]
        print(json.dumps(MEASUREMENTS[kind](*values)))
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for all processes
    figures = measure(args.peers, args.seconds, args.rounds)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(report(figures))


if __name__ == "__main__":
    main()
