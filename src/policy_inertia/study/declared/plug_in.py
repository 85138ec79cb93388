"""The plug-in study: `smooth` around DQNs that Stable-Baselines3 trained, on Two-Way.

    python -m policy_inertia.study.declared.plug_in

It writes one record per seed to results/plug-in. A finished seed is not repeated. A stopped seed
keeps its trained core, and its controllers resume from their checkpoints.

This file has no `STUDY`: the cores come from another library, so the study has its own runner.
"""

from __future__ import annotations

import importlib.metadata
import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from policy_inertia.envs.making import make_env
from policy_inertia.files import make_folder, write_file
from policy_inertia.machine import use_one_thread, versions
from policy_inertia.smoothing.smooth import smooth
from policy_inertia.storage import write_json
from policy_inertia.study.analysis.plug_in_records import estimate_policies, read_plug_in
from policy_inertia.study.report.markdown import plug_in_by_seed, plug_in_table
from policy_inertia.training.run_folder import read_description

Settings = dict[str, Any]

TASK = "policy_inertia/TwoWay-v0"
KWARGS: Settings = {"config": {"scenario": "simple"}}  # on the complex one nearly every run crashes
CORE_STEPS = 60_000
CORE_ENVS = 4
CORE: Settings = {  # Stable-Baselines3's own defaults for DQN are too slow for so few steps
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
EPISODES = 1_000  # held out, for each policy: enough to compare crash rates
CONTROLLERS: dict[str, Settings] = {"controller": {}, "no warm-up": {"warmup": 0.0}}
SEEDS = (30, 31, 32, 33, 34)  # the settings were chosen with seeds up to 24
RESULTS = Path("results/plug-in")
POLICIES = ("core", "hysteresis", *CONTROLLERS)
FORMAT = 1  # of the records


@dataclass(frozen=True)
class PlugIn:
    """Run `smooth` around DQNs of Stable-Baselines3 on Two-Way, and print the results."""

    seeds: tuple[int, ...] = SEEDS
    """Seeds of the cores and of the controllers around them."""
    out: Path = RESULTS
    """Folder for the records: one JSON file per seed."""
    runs: Path = Path("runs/plug-in")
    """Folder for the cores and the runs."""


def train_core(path: Path, seed: int, steps: int = CORE_STEPS) -> None:
    """Train a DQN with Stable-Baselines3 and save it as its zip file."""
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    env = make_vec_env(lambda: make_env(TASK, KWARGS), CORE_ENVS, seed=seed)
    model = DQN("MlpPolicy", env, seed=seed, device="cpu", **CORE)
    model.learn(steps)
    data = io.BytesIO()
    model.save(data)
    make_folder(path.parent)
    write_file(path, data.getvalue())


def run_seed(
    seed: int,
    runs: Path,
    episodes: int = EPISODES,
    steps: int = STEPS,
    core_steps: int = CORE_STEPS,
) -> dict[str, Any]:
    """Train a core and every controller around it, and return the record of the seed."""
    core = runs / f"seed-{seed}" / "core.zip"
    if not core.exists():
        started = time.perf_counter()
        train_core(core, seed, core_steps)
        print(f"seed {seed}: core trained in {time.perf_counter() - started:.0f} s", flush=True)
    record = _empty_record(seed, episodes, steps, core_steps)
    for name, changes in CONTROLLERS.items():
        folder = core.parent / name.replace(" ", "-")
        fresh, cpu_start = not folder.exists(), time.process_time()
        result = smooth(
            core,
            TASK,
            steps=steps,
            episodes=episodes,
            seed=seed,
            out=folder,
            resume=True,
            train=True,
            env_kwargs=KWARGS,
            **changes,
        )
        print(f"seed {seed}, {name}:\n{result}", flush=True)
        for candidate, figures in result.to_dict()["candidates"].items():
            record["policies"][name if candidate == "controller" else candidate] = figures
        record["settings"][name] = read_description(folder / "controller").config
        record["budget"] = result.budget
        record["recommended"][name] = result.recommended
        if fresh:  # the times of a resumed run would be too short
            record["seconds"][name] = result.seconds
            record["cpu_seconds"][name] = time.process_time() - cpu_start
        record["memory_mb"][name] = result.memory
    return record


def _empty_record(seed: int, episodes: int, steps: int, core_steps: int) -> dict[str, Any]:
    foreign = {name: importlib.metadata.version(name) for name in ("stable-baselines3", "torch")}
    return {
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
        "cpu_seconds": {},  # of one thread: the time on a machine that does nothing else
        "memory_mb": {},
        "versions": versions() | foreign,
    }


def main() -> None:
    """Run the seeds that have no record yet, then print the tables."""
    options = tyro.cli(PlugIn)
    make_folder(options.out)
    for seed in options.seeds:
        path = options.out / f"seed-{seed}.json"
        if not path.exists():
            write_json(path, run_seed(seed, options.runs))
    records = read_plug_in(options.out, options.seeds)
    print(plug_in_table(estimate_policies(records)), plug_in_by_seed(records), sep="\n\n")


if __name__ == "__main__":
    use_one_thread()
    main()
