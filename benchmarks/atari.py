"""Time learning from pixels: Qbert, batches of 64, an update every four transitions.

It measures one network, whole updates, and whole training with its memory, beside PyTorch (SB3's
DQN, and discrete SAC as CleanRL writes it), all on **one core**. Updates take turns in one process
and are timed in CPU time, so that a busy machine slows all alike; only ratios count. `make
benchmark-atari` runs everything, prints tables and writes the figures to a JSON file.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from learner import call
from policy_inertia.machine import use_one_thread

use_one_thread()

import numpy as np  # noqa: E402

HERE = Path(__file__).parent
ENV = "policy_inertia/Qbert-v0"
OURS = ("dqn", "sac", "nsac", "dial-dqn")
IMAGE, BATCH, N_ACTIONS = (4, 84, 84), 64, 6
CALL = 4  # updates in one call, as with 16 envs
ENVS, BUFFER, LEARNING_STARTS = 16, 20_000, 1_000


Timed = tuple[int, Callable[[], Any]]
"""The number of updates in one call, and the call."""


def in_turns(variants: dict[str, Timed], rounds: int) -> dict[str, float]:
    """Time the variants in turns; return the CPU time of one update in ms, the median of rounds."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for i in range(rounds + 2):  # the first two rounds warm up
        for name, (count, run) in variants.items():
            start = time.process_time()
            run()
            if i >= 2:
                times[name].append((time.process_time() - start) / count * 1e3)
    return {name: statistics.median(each) for name, each in times.items()}


def network(rounds: int) -> dict[str, float]:
    """Time the forward and backward pass of a network: ours, XLA, PyTorch, bare products."""
    from atari_peers import network_pass
    from policy_inertia.actions.discrete import Discrete
    from policy_inertia.envs.spec import Spec
    from policy_inertia.networks.perceptron import Network

    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (BATCH, int(np.prod(IMAGE))), dtype=np.uint8)
    spec = Spec(pixels.shape[1], Discrete(N_ACTIONS), image=IMAGE)
    net = Network(spec, (512,), N_ACTIONS)
    params = net.init(rng)
    return in_turns(
        {
            "ours": descent(net, params, pixels, CALL),
            "xla": descent(by_xla, params, pixels, 1),  # in a loop it is twenty times as slow
            "torch": (1, network_pass(pixels, False)),
            "torch-channels-last": (1, network_pass(pixels, True)),
            "products": products(rng),
        },
        rounds,
    )


def by_xla(params: Any, x: Any) -> Any:
    """Apply a network of the same size; the order of its weights does not change the time."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    x = x.reshape(-1, *IMAGE).astype(jnp.float32) / 255
    for layer, (kernel, stride) in zip(params["torso"], ((8, 4), (4, 2), (3, 1)), strict=True):
        w = layer["w"].T.reshape(layer["w"].shape[1], -1, kernel, kernel)
        x = lax.conv_general_dilated(x, w, (stride, stride), "VALID")
        x = jax.nn.relu(x + layer["b"].reshape(-1, 1, 1))
    first, last = params["head"]
    x = jax.nn.relu(x.reshape(len(x), -1) @ first["w"] + first["b"])
    return x @ last["w"] + last["b"]


def descent(network: Callable[..., Any], params: Any, pixels: np.ndarray, count: int) -> Timed:
    """Gradient descent on a network: one step in a call, or `count` steps in a compiled loop."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    def step(i: Any, p: Any) -> Any:
        gradient = jax.grad(lambda p: (network(p, jnp.asarray(pixels) + i) ** 2).sum())(p)
        return jax.tree.map(lambda a, g: a - 1e-7 * g, p, gradient)

    def loop(p: Any) -> Any:
        return lax.fori_loop(0, count, lambda i, p: step(i.astype(jnp.uint8), p), p)

    run = jax.jit(loop) if count > 1 else jax.jit(lambda p: step(jnp.uint8(0), p))
    return count, lambda: jax.block_until_ready(run(params))


def products(rng: np.random.Generator) -> Timed:
    """The eleven large matrix products of a network alone, each in its faster form.

    The products of the convolutions take a few images at a time, always the same ones.
    """
    import jax
    from jax import lax
    from jax import numpy as jnp

    from policy_inertia.networks.convolution import CONVOLUTIONS

    def repeated(sizes: list[tuple[int, int, int]], times: int) -> Callable[[], Any]:
        shapes = [((m, k), (k, n)) for m, k, n in sizes]
        shapes += [((n, m), (m, k)) for m, k, n in sizes]  # gradients of the weights
        shapes += [((m, n), (n, k)) for m, k, n in sizes if k != 256]  # gradients of the inputs
        pairs = [[jnp.asarray(rng.random(s), jnp.float32) for s in pair] for pair in shapes]

        def body(i: Any, carry: Any) -> Any:
            return lax.optimization_barrier((carry[0], [a @ b for a, b in carry[0]]))

        run = jax.jit(lambda c: lax.fori_loop(0, CALL * times, body, c))
        carry = (pairs, [a @ b for a, b in pairs])
        return lambda: jax.block_until_ready(run(carry))

    few = CONVOLUTIONS[0].chunk
    sizes = [(400 * few, 256, 32), (81 * few, 512, 64), (49 * few, 576, 64)]
    convolutions, head = repeated(sizes, BATCH // few), repeated([(BATCH, 3_136, 512)], 1)
    return CALL, lambda: (convolutions(), head())


def updates(rounds: int) -> dict[str, float]:
    """Time one update of each method, and acting on 1 and on 16 observations."""
    import torch

    from atari_peers import SAC, sb3_dqn
    from policy_inertia.actions.discrete import Discrete
    from policy_inertia.envs.spec import Spec
    from policy_inertia.replay.frames import FrameReplay
    from policy_inertia.run_settings import override, settings
    from policy_inertia.training.learner import Learner
    from policy_inertia.types import Transition

    rng = np.random.default_rng(0)
    spec = Spec(int(np.prod(IMAGE)), Discrete(N_ACTIONS), image=IMAGE)
    replay = FrameReplay(200, IMAGE, spec.actions)
    stacks = rng.integers(0, 256, (2, 200, spec.obs_dim), dtype=np.uint8)
    action, reward = rng.integers(0, N_ACTIONS, 200), rng.random(200, np.float32)
    for i in range(200):
        one = slice(i, i + 1)
        replay.add(Transition(stacks[0][one], action[one], action[one], reward[one],
                              np.full(1, 0.99), stacks[1][one]))  # fmt: skip
    minibatches = np.zeros((CALL, BATCH, replay.width), np.int32)
    variants: dict[str, Timed] = {}

    def add(name: str, config: Any) -> None:
        """Add the update of a method, and for some methods also acting."""
        learner = Learner(config.build(spec), replay.unpack, np.random.default_rng(0))
        due = np.ones((CALL, len(learner.algorithm.intervals)), bool)

        def update() -> None:
            replay.sample(rng, (CALL, BATCH), minibatches)
            learner.update(minibatches, due, CALL)

        variants[f"ours-{name}"] = (CALL, update)
        if name in ("dqn", "nsac"):
            for n in (1, 16):
                apply = functools.partial(learner.algorithm.apply, xp=np)
                act = functools.partial(apply, learner.acting, stacks[0][:n], action[:n])
                variants[f"act-{name}-{n}"] = (1, act)

    for method in OURS:
        add(method, settings(method, ENV).config)
    in_turn = {"at_once": False}
    nsac = settings("nsac", ENV).config
    add("nsac-in-turn", override(nsac, {"InertiaConfig": in_turn, "SACConfig": in_turn}))

    sb3 = sb3_dqn(1, 1_000, 1_000)
    sb3.learn(300)  # fills its replay, without learning
    variants["sb3-dqn"] = (1, lambda: sb3.train(gradient_steps=1, batch_size=BATCH))
    sac = SAC(N_ACTIONS)

    def torch_update() -> None:
        i = rng.integers(0, 200, BATCH)
        obs, next_obs = (torch.as_tensor(s[i]).reshape(-1, *IMAGE) for s in stacks)
        a, r = torch.as_tensor(action[i]), torch.as_tensor(reward[i])
        sac.update((obs, a, r, torch.full((BATCH,), 0.99), next_obs))

    variants["cleanrl-sac"] = (1, torch_update)
    return in_turns(variants, rounds)


def training(name: str, seconds: float) -> dict[str, float]:
    """Measure steps per second and per second of CPU time on Qbert, and the peak memory."""
    if name == "sb3-dqn":
        from atari_peers import sb3_dqn

        model = sb3_dqn(ENVS, BUFFER, LEARNING_STARTS)
        clock: list[tuple[float, float, int]] = []

        def tick(*_: Any) -> bool:
            if model.num_timesteps > LEARNING_STARTS + 200:
                clock.append((time.perf_counter(), time.process_time(), model.num_timesteps))
            return not clock or clock[-1][0] - clock[0][0] < seconds

        model.learn(10**9, callback=tick, log_interval=None)
        first, last = clock[0], clock[-1]
    else:
        from policy_inertia.run_settings import settings
        from policy_inertia.training.session import Session

        changes: dict[str, Any] = {
            "envs": ENVS,
            "buffer_size": BUFFER,
            "learning_starts": LEARNING_STARTS,
        }
        s = Session(settings(name.removeprefix("ours-"), ENV, **changes), ENV)
        while s.step < LEARNING_STARTS + 200:
            s.advance()
        first = last = (time.perf_counter(), time.process_time(), s.step)
        while last[0] - first[0] < seconds:
            s.advance()
            last = (time.perf_counter(), time.process_time(), s.step)
    wall, cpu, n = (b - a for a, b in zip(first, last, strict=True))
    return {
        "steps_per_second": n / wall,
        "steps_per_cpu_second": n / cpu,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


KINDS: dict[str, Callable[..., dict[str, float]]] = {
    "network": network,
    "updates": updates,
    "training": training,
}


def measure(seconds: float, rounds: int) -> dict[str, Any]:
    """Run all measurements, each in its own process."""

    def in_own_process(*arguments: Any) -> dict[str, Any]:
        label = " ".join(map(str, arguments))
        return call([sys.executable, __file__, "--own", *arguments], label)

    training: dict[str, dict[str, float]] = {}
    for _ in range(3):  # the libraries take turns, and the best counts: a busy moment only slows
        for name in ("ours-dqn", "sb3-dqn", "ours-sac", "ours-nsac"):
            figures = in_own_process("training", name, seconds)
            best = training.get(name, {}).get("steps_per_cpu_second", 0.0)
            if figures.get("steps_per_cpu_second", 0.0) > best:
                training[name] = figures
    return {
        "network_ms": in_own_process("network", rounds),
        "update_ms": in_own_process("updates", rounds),
        "training": training,
        "machine": f"{platform.machine()}, one core, Python {platform.python_version()}",
    }


def report(figures: dict[str, Any]) -> str:
    """Write the tables of docs/performance.md."""
    network, update, training = (figures[k] for k in ("network_ms", "update_ms", "training"))
    lines = ["| one network, forward and backward | ms of CPU | / ours |", "|---|---|---|"]
    lines += [f"| {k} | {v:.1f} | {v / network['ours']:.2f} |" for k, v in network.items()]
    lines += ["", "| one update, or acting | ms of CPU | / our DQN's |", "|---|---|---|"]
    lines += [f"| {k} | {v:.1f} | {v / update['ours-dqn']:.2f} |" for k, v in update.items()]
    lines += ["", "| training on Qbert | steps/s | steps/CPU s | MB |", "|---|---|---|---|"]
    lines += [
        f"| {k} | {v['steps_per_second']:.0f} | {v['steps_per_cpu_second']:.0f} | {v['mb']:.0f} |"
        for k, v in training.items()
    ]
    speed = {k: v["steps_per_cpu_second"] for k, v in training.items()}
    rows = [
        ("one network, ours / PyTorch, channels last",
         network["ours"] / network["torch-channels-last"], ""),
        ("one network, ours / its products alone", network["ours"] / network["products"], ""),
        ("update, NSAC / our DQN", update["ours-nsac"] / update["ours-dqn"], "<= 6"),
        ("update, our DQN / SB3's", update["ours-dqn"] / update["sb3-dqn"], "<= 1"),
        ("update, our SAC / CleanRL's", update["ours-sac"] / update["cleanrl-sac"], ""),
    ]  # fmt: skip
    if "sb3-dqn" in speed and "ours-dqn" in speed:
        rows.append(("training, our DQN / SB3's", speed["ours-dqn"] / speed["sb3-dqn"], ">= 1"))
    lines += ["", "| ratio | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {value:.2f} | {goal} |" for name, value, goal in rows]
    return "\n".join([*lines, "", f"Measured on {figures['machine']}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of each training")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the timed calls")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "atari.json")
    parser.add_argument("--own", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for all
    if args.own:
        import torch

        torch.set_num_threads(1)
        kind, *rest = args.own
        values = [json.loads(text) if text[0].isdigit() else text for text in rest]
        print(json.dumps(KINDS[kind](*values)))
        return
    figures = measure(args.seconds, args.rounds)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(report(figures))


if __name__ == "__main__":
    main()
