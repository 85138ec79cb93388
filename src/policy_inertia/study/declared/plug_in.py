"""The plug-in study: `smooth` around DQNs that Stable-Baselines3 trained by itself, on Two-Way.

    python -m policy_inertia.study.declared.plug_in

One record a seed is kept in results/plug-in. A finished seed is not done again; of a stopped one
the trained core is kept, and the controllers go on from their checkpoints.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.machine import use_one_thread
from policy_inertia.study.analysis.statistics import Estimate, interquartile_mean

Settings = dict[str, Any]

TASK = "policy_inertia/TwoWay-v0"
KWARGS: Settings = {"config": {"scenario": "simple"}}  # the complex one can hardly be survived
CORE_STEPS = 60_000
CORE_ENVS = 4
CORE: Settings = {  # of Stable-Baselines3's DQN, whose defaults are too slow for so few steps
    "learning_rate": 5e-4,
    "learning_starts": 1_000,
    "buffer_size": 60_000,
    "batch_size": 64,
    "train_freq": 1,
    "gradient_steps": CORE_ENVS // 2,  # one update for two transitions
    "target_update_interval": 500,
    "exploration_fraction": 0.3,
    "policy_kwargs": {"net_arch": [64, 64]},
}
STEPS = 50_000
EPISODES = 1_000  # held out, for each policy: crash rates are to be told apart
CONTROLLERS: dict[str, Settings] = {"controller": {}, "no warm-up": {"warmup": 0.0}}
SEEDS = (30, 31, 32, 33, 34)  # those up to 24 were looked at while the settings were chosen
RESULTS = Path("results/plug-in")
POLICIES = ("core", "hysteresis", *CONTROLLERS)
FIGURES = ("oscillation_ratio", "return", "crash_rate", "length")
FORMAT = 1


@dataclass(frozen=True)
class PlugIn:
    """`smooth` around DQNs of Stable-Baselines3 on Two-Way, and what it did to them."""

    seeds: tuple[int, ...] = SEEDS
    """Seeds of the cores and of the controllers around them."""
    out: Path = RESULTS
    """Folder for the records, one JSON file a seed."""
    runs: Path = Path("runs/plug-in")
    """Folder for cores and runs."""


def train_core(path: Path, seed: int, steps: int = CORE_STEPS) -> None:
    """A DQN by Stable-Baselines3 itself, as a zip."""
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    from policy_inertia.envs.making import make_env

    torch.set_num_threads(1)
    env = make_vec_env(lambda: make_env(TASK, KWARGS), CORE_ENVS, seed=seed)
    model = DQN("MlpPolicy", env, seed=seed, device="cpu", **CORE)
    model.learn(steps)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.zip")
    model.save(part)
    part.replace(path)  # a kill leaves no half of a zip


def carry_out(
    seed: int,
    runs: Path,
    episodes: int = EPISODES,
    steps: int = STEPS,
    core_steps: int = CORE_STEPS,
) -> dict[str, Any]:
    """The record of one seed: a core, then every controller around it."""
    from policy_inertia.machine import versions
    from policy_inertia.smoothing.smooth import smooth
    from policy_inertia.storage import read_json

    core = runs / f"seed-{seed}" / "core.zip"
    if not core.exists():
        started = time.perf_counter()
        train_core(core, seed, core_steps)
        print(f"seed {seed}: core trained in {time.perf_counter() - started:.0f} s", flush=True)
    record: dict[str, Any] = {
        "format": FORMAT,
        "seed": seed,
        "task": TASK,
        "env_kwargs": KWARGS,
        "core_steps": core_steps,
        "core_settings": CORE,
        "steps": steps,
        "episodes": episodes,
        "settings": {},
        "policies": {},
        "recommended": {},
        "seconds": {},
        "cpu_seconds": {},  # one thread: what the clock would say on a machine with nothing else
        "memory_mb": {},
        "versions": versions()
        | {name: importlib.metadata.version(name) for name in ("stable-baselines3", "torch")},
    }
    for name, changes in CONTROLLERS.items():
        folder = core.parent / name.replace(" ", "-")
        whole, worked = not folder.exists(), time.process_time()
        result = smooth(
            core,
            TASK,
            steps=steps,
            episodes=episodes,
            seed=seed,
            out=folder,
            resume=True,
            env_kwargs=KWARGS,
            **changes,
        )
        print(f"seed {seed}, {name}:\n{result}", flush=True)
        for candidate, found in result.to_dict()["candidates"].items():
            key = name if candidate == "controller" else candidate
            kept = ("price", "hysteresis", *FIGURES, "intervals_over_episodes")
            record["policies"][key] = {k: found[k] for k in kept}
        record["settings"][name] = read_json(folder / "run.json", "a run's description")["config"]
        record["budget"] = result.budget
        record["recommended"][name] = result.recommended
        if whole:  # of a run that was stopped and resumed they are not known
            record["seconds"][name] = result.seconds
            record["cpu_seconds"][name] = time.process_time() - worked
        record["memory_mb"][name] = result.memory
    return record


def load(folder: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The records of these seeds."""
    from policy_inertia.storage import read_json

    kind = "a record of the plug-in study"
    return [read_json(folder / f"seed-{s}.json", kind, FORMAT) for s in seeds]


def values(records: Sequence[dict[str, Any]], policy: str, key: str) -> np.ndarray:
    """One number for each seed."""
    return np.array([r["policies"][policy][key] for r in records], float)


def against_core(
    records: Sequence[dict[str, Any]], policy: str, key: str, relative: bool
) -> np.ndarray:
    """By how much a policy differs from its own core, seed by seed."""
    core, found = values(records, "core", key), values(records, policy, key)
    return found / core - 1 if relative else found - core


def table(records: Sequence[dict[str, Any]]) -> str:
    """What was found, as Markdown: interquartile means and 95% intervals over seeds."""
    if not records:
        raise InputError("there is no record to make a table of: carry out at least one seed")

    def cell(numbers: np.ndarray, style: str) -> str:
        return _cell(interquartile_mean([numbers.tolist()]), style)

    lines = [
        "| | oscillation | return | crash rate | oscillation / core's | return, change | "
        "crash rate, change |",
        "|---|---|---|---|---|---|---|",
    ]
    for policy in POLICIES:
        cells = [
            cell(values(records, policy, key), style)
            for key, style in zip(FIGURES, ("{:.3f}", "{:.2f}", "{:.3f}"), strict=False)
        ]
        cells += [
            ""
            if policy == "core"
            else cell(scale + against_core(records, policy, key, relative), style)
            for key, relative, scale, style in (
                ("oscillation_ratio", True, 1, "{:.2f}"),
                ("return", True, 0, "{:+.1%}"),
                ("crash_rate", False, 0, "{:+.3f}"),
            )
        ]
        lines.append(f"| {policy} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_seed(records: Sequence[dict[str, Any]]) -> str:
    """Oscillation / return / crash rate of every policy, seed by seed, as Markdown."""
    lines = [f"| seed | {' | '.join(POLICIES)} |", "|---|" + "---|" * len(POLICIES)]
    for r in records:
        cells = [
            "{oscillation_ratio:.3f} / {return:.2f} / {crash_rate:.3f}".format(**r["policies"][p])
            for p in POLICIES
        ]
        lines.append(f"| {r['seed']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: Estimate, style: str) -> str:
    middle = style.format(found.value)
    if found.low is None or found.high is None:
        return middle
    return f"{middle} [{style.format(found.low)}, {style.format(found.high)}]"


def main() -> None:
    """Carry out what is missing, then print the table."""
    import tyro

    from policy_inertia.storage import write_json

    asked = tyro.cli(PlugIn)
    asked.out.mkdir(parents=True, exist_ok=True)
    for seed in asked.seeds:
        path = asked.out / f"seed-{seed}.json"
        if not path.exists():
            write_json(path, carry_out(seed, asked.runs))
    records = load(asked.out, asked.seeds)
    print(table(records), by_seed(records), sep="\n\n")


if __name__ == "__main__":
    use_one_thread()
    main()
