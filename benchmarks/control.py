"""Time our SAC and dial on continuous actions beside SB3 and SBX, and beside matrix products.

One run, one env and one thread each, on Pendulum and Hopper: 256-256 networks, batches of 256, one
update per step. The libraries take turns, each in its own process. Seconds are those of the
processor, so that other programs on the machine count little. `make benchmark-control` runs
everything, prints a table and writes the figures to a JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from learner import call
from policy_inertia.machine import use_one_thread

use_one_thread()

HERE = Path(__file__).parent
ENVS = ("Pendulum-v1", "Hopper-v5")
OURS = ("sac", "dial-sac")
PEERS = ("sb3-sac", "sbx-sac")
BATCH, HIDDEN, LEARNING_STARTS, WARM_UP = 256, 256, 1_000, 1_300
UPDATES = 16  # of a timed call


def session(method: str, env: str, **changes: Any) -> Any:
    """Start a training session with the settings of the peers, which are our defaults too."""
    from policy_inertia.run_settings import settings
    from policy_inertia.training.session import Session

    config = settings(method, env, envs=1, learning_starts=LEARNING_STARTS, **changes)
    return Session(config, env)


def train_speed(method: str, env: str, seconds: float) -> dict[str, float]:
    """Measure steps per second of the processor, after a warm-up that compiles everything."""
    s = session(method, env)
    while s.step < WARM_UP:
        s.advance()
    start, step, updates = time.process_time(), s.step, s.updates
    while (elapsed := time.process_time() - start) < seconds:
        s.advance()
    steps = s.step - step
    return {"steps_per_second": steps / elapsed, "updates_per_step": (s.updates - updates) / steps}


def time_update(method: str, env: str, repeats: int = 12) -> dict[str, float]:
    """Time one update in microseconds, within calls of several; the best call counts."""
    import numpy as np

    s = session(method, env)
    while s.step < WARM_UP:
        s.advance()
    words = np.zeros((UPDATES, BATCH, s.replay.width), np.int32)
    s.replay.sample(s.replay_rng, (UPDATES, BATCH), words)
    due = np.ones((UPDATES, len(s.algorithm.intervals)), bool)
    return {"us": best_of(lambda: s.learner.update(words, due, UPDATES), repeats)}


def time_products(env: str, repeats: int = 12) -> dict[str, float]:
    """Time the matrix products of one update of SAC alone, in microseconds."""
    import gymnasium as gym
    import jax
    import numpy as np
    from jax import lax
    from jax import numpy as jnp

    made = gym.make(env)
    assert made.observation_space.shape is not None
    assert made.action_space.shape is not None
    (obs,), (d,) = made.observation_space.shape, made.action_space.shape
    rng, dots = np.random.default_rng(0), []

    def add(a: tuple[int, int], b: tuple[int, int], twins: int) -> None:
        for _ in range(twins):
            dots.append([jnp.asarray(rng.normal(0, 1, s), jnp.float32) for s in (a, b)])  # noqa: PERF401

    def forward(inputs: int, outputs: int, twins: int = 1) -> None:
        add((BATCH, inputs), (inputs, HIDDEN), twins)
        add((BATCH, HIDDEN), (HIDDEN, HIDDEN), twins)
        add((BATCH, HIDDEN), (HIDDEN, outputs), twins)

    def to_hidden(outputs: int, twins: int = 1) -> None:  # gradients of the two hidden layers
        add((BATCH, outputs), (outputs, HIDDEN), twins)
        add((BATCH, HIDDEN), (HIDDEN, HIDDEN), twins)

    def to_weights(inputs: int, outputs: int, twins: int = 1) -> None:
        add((HIDDEN, BATCH), (BATCH, outputs), twins)
        add((HIDDEN, BATCH), (BATCH, HIDDEN), twins)
        add((inputs, BATCH), (BATCH, HIDDEN), twins)

    joint = obs + d
    forward(obs, 2 * d)  # actor at s'
    forward(joint, 1, 2)  # targets at s'
    forward(joint, 1, 2)  # critics at s
    to_hidden(1, 2)
    to_weights(joint, 1, 2)
    forward(obs, 2 * d)  # actor at s
    forward(joint, 1, 2)  # improved critics at s and the actor's action
    to_hidden(1, 2)
    add((BATCH, HIDDEN), (HIDDEN, joint), 2)  # gradients of the action
    to_hidden(2 * d)
    to_weights(obs, 2 * d)

    def body(i: Any, carry: Any) -> Any:
        inputs, _ = carry
        # without the barrier, XLA would move the products out of the loop or drop them
        return lax.optimization_barrier((inputs, [a @ b for a, b in inputs]))

    run = jax.jit(lambda c: lax.fori_loop(0, UPDATES, body, c))
    carry = (dots, [a @ b for a, b in dots])
    return {
        "us": best_of(lambda: jax.block_until_ready(run(carry)), repeats),
        "products": len(dots),
    }


def best_of(f: Callable[[], Any], repeats: int) -> float:
    """The microseconds of the processor that one of `UPDATES` takes in the best call of `f`."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return min(times[1:]) / UPDATES * 1e6  # the first call compiles


def peak_memory() -> dict[str, float]:
    """Measure the resident memory of a run of SAC with a full replay of 10^6 transitions of Ant."""
    import numpy as np

    from policy_inertia.types import Transition

    s = session("sac", "Ant-v5", buffer_size=1_000_000)
    n, (d,) = 10_000, s.spec.actions.shape
    obs, action, zero = np.ones((n, s.spec.obs_dim)), np.zeros((n, d)), np.zeros(n)
    for _ in range(100):
        s.replay.add(Transition(obs, action, action, zero, zero, obs))
    for _ in range(50):
        s.advance()
    assert len(s.replay) == 1_000_000
    return {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


MEASUREMENTS: dict[str, Callable[..., dict[str, float]]] = {
    "speed": train_speed,
    "update": time_update,
    "limit": time_products,
    "memory": peak_memory,
}


def in_own_process(*arguments: Any) -> dict[str, Any]:
    """Run one of `MEASUREMENTS` in its own process."""
    label = " ".join(map(str, arguments))
    return call([sys.executable, __file__, "--own", *arguments], label)


def measure(peers: str | None, seconds: float, rounds: int) -> dict[str, Any]:
    """Run all measurements; `peers` is the Python of an environment that has the peers."""
    speed: dict[str, dict[str, float]] = {env: {} for env in ENVS}

    def record(env: str, name: str, figures: dict[str, Any]) -> None:
        best = speed[env].get(name, 0.0)
        speed[env][name] = max(figures.get("steps_per_second", 0.0), best)

    for _ in range(rounds):  # the libraries take turns, so a slow minute of the machine slows all
        for env in ENVS:
            for method in OURS:
                record(env, f"ours-{method}", in_own_process("speed", method, env, seconds))
            for peer in PEERS if peers else ():
                command = [peers, "-W", "ignore", HERE / "control_peers.py", peer, env, seconds]
                record(env, peer, call(command, f"{peer} {env}"))
    return {
        "speed": speed,
        "update_us": {
            env: {m: in_own_process("update", m, env)["us"] for m in OURS} for env in ENVS
        },
        "products_us": {env: in_own_process("limit", env)["us"] for env in ENVS},
        "memory_mb": in_own_process("memory")["mb"],
        "machine": f"{platform.machine()}, one thread, Python {platform.python_version()}",
        "load": os.getloadavg()[2],
        "cores": os.cpu_count(),
    }


def report(figures: dict[str, Any]) -> str:
    """Write the tables of docs/performance.md."""
    names = list(figures["speed"][ENVS[0]])
    lines = ["| library and method | " + " | ".join(ENVS) + " |", "|---" * (1 + len(ENVS)) + "|"]
    for name in names:
        cells = (f"{figures['speed'][env][name]:,.0f}" for env in ENVS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| ratio | " + " | ".join(ENVS) + " | goal |", "|---" * (2 + len(ENVS)) + "|"]

    def ratios(name: str, goal: str, value: Callable[[str], float]) -> None:
        cells = (f"{value(env):.2f}" for env in ENVS)
        lines.append(f"| {name} | {' | '.join(cells)} | {goal} |")

    speed, update, products = figures["speed"], figures["update_us"], figures["products_us"]
    for peer, goal in (("sbx-sac", ">= 1"), ("sb3-sac", ">= 1.5")):
        if peer in names:
            ratios(f"our SAC / {peer}", goal, lambda e, p=peer: speed[e]["ours-sac"] / speed[e][p])  # type: ignore[misc]
    ratios(
        "our dial / our SAC", ">= 0.6", lambda e: speed[e]["ours-dial-sac"] / speed[e]["ours-sac"]
    )
    ratios(
        "an update of SAC / its matrix products", "<= 1.5", lambda e: update[e]["sac"] / products[e]
    )
    lines += ["", f"A run with 10^6 transitions of Ant: {figures['memory_mb'] / 1024:.2f} GB."]
    load = f"a load of {figures['load']:.1f} on {figures['cores']} cores"
    lines.append(f"Measured on {figures['machine']}, with {load}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="the Python of an environment that has the peers")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="seconds of each speed measurement"
    )
    parser.add_argument(
        "--rounds", type=int, default=2, help="rounds over all libraries; the best one counts"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "control.json")
    parser.add_argument("--own", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.own:
        kind, *rest = args.own
        values = [json.loads(text) if text[0].isdigit() else text for text in rest]
        print(json.dumps(MEASUREMENTS[kind](*values)))
        return
    figures = measure(args.peers, args.seconds, args.rounds)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(report(figures))


if __name__ == "__main__":
    main()
