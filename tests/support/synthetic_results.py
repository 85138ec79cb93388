"""Results to draw and report: made up ones, and ones of real short runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.settings import settings
from policy_inertia.storage import read_json
from policy_inertia.study.results import Experiment, Results, Series
from policy_inertia.training.loop import run
from policy_inertia.training.run_folder import read_metrics


def figures(ret: float, osc: float, crash: float | None, mu: float | None = None) -> dict[str, Any]:
    known = {
        "return": ret,
        "oscillation_ratio": osc,
        "crash_rate": crash,
        "termination_rate": 0.2 if crash is None else crash,
    }
    return known if mu is None else known | {"mu_mean": mu}


def series(
    label: str,
    ret: float = 17,
    osc: float = 0.4,
    crash: float | None = 0.2,
    mu: float | None = None,
    task: str = "Two-Way",
    seeds: int = 5,
    thresholds: tuple[float, ...] = (),
) -> Series:
    """A method whose seeds scatter around the given figures."""
    rng = np.random.default_rng([*label.encode(), *task.encode()])
    results, curves = [], []
    filtered: dict[float, list[dict[str, Any]]] = {tau: [] for tau in thresholds}
    for _ in range(seeds):
        r, o = ret + rng.normal(0, 0.6), float(np.clip(osc + rng.normal(0, 0.02), 0, 1))
        c = None if crash is None else float(np.clip(crash + rng.normal(0, 0.03), 0, 1))
        found = {"step": 100_000, "sampled": figures(r, o, c, mu)}
        found["greedy"] = figures(r + 0.5, o * 0.6, c, mu)
        if mu is not None:
            found["core"] = figures(r - 0.5, min(1, o * 1.4), c)
        results.append(found)
        rise = 1 - np.exp(-np.arange(21) / 5)
        values = zip(rise, rng.normal(0, 0.5, 21), rng.normal(0, 0.02, 21), strict=True)
        curves.append(
            [
                {
                    "step": 5_000 * k,
                    "eval/mean_reward": 5 + (r - 5) * up + e,
                    "eval/oscillation_ratio": 0.7 + (o - 0.7) * up + d,
                }
                | ({} if mu is None else {"train/mu_mean": 0.5 + (mu - 0.5) * up + d})
                for k, (up, e, d) in enumerate(values)
            ]
        )
        for tau, each in filtered.items():
            less = figures(r - tau, o / (1 + 2 * tau), c)
            each.append({"sampled": less, "greedy": less})
    own = {"temperature": 0.01, "hidden": [64, 64]} | ({} if mu is None else {"mu0": 0.0})
    env = "policy_inertia/TwoWay-v0"
    config = {"method": label.lower(), "env": env, "steps": 100_000, "config": own}
    return Series(
        label, task, label.lower(), env, config, list(range(seeds)),
        [Path(f"runs/{label}/seed-{k}") for k in range(seeds)], curves, results, filtered,
    )  # fmt: skip


def results(**changes: Any) -> Results:
    """A made up study of two tasks and an ablation."""
    base = [
        s
        for task, hard in (("Two-Way", 0), ("Lane Change", 6))
        for s in (
            series("DQN", 16.5 + hard, 0.42, 0.2, task=task, thresholds=(0.1, 0.3, 1.0)),
            series("SAC", 17 + hard, 0.55, 0.18, task=task, thresholds=(0.1, 0.5, 1.0, 2.0)),
            series("NSAC", 17.2 + hard, 0.3, 0.17, mu=0.6, task=task),
        )
    ]
    bounds = [
        series(f"mu0 = {m}", 17 - 4 * m, 0.4 - 0.35 * m, 0.15, m + 0.2) for m in (0, 0.1, 0.5)
    ]
    known: dict[str, Any] = {
        "title": "A made up study",
        "about": "Numbers drawn from a generator, to see what a report looks like.",
        "command": "policy-inertia study made-up --out runs/made-up",
        "versions": {"python": "3.11", "policy-inertia": "0.1.0"},
        "folder": Path("runs/made-up"),
        "experiments": [
            Experiment("base", "Base results", "DQN, SAC and NSAC.", False, base),
            Experiment("mu0", "Lower bound of mu", "NSAC with mu at least mu0.", True, bounds),
        ],
        "failed": [("base/NSAC/seed-5", "its process ended with code -9")],
    }
    return Results(**known | changes)


TINY = {"steps": 2_000, "eval_every": 500, "eval_episodes": 3, "final_episodes": 4}


def trained(folder: Path, env: str, task: str, labels: dict[str, str]) -> Results:
    """Real runs of a few seconds: each method with two seeds."""
    made = []
    for label, method in labels.items():
        config, folders = settings(method, env, **TINY).to_dict(), []
        for seed in (0, 1):
            folders.append(folder / method / f"seed-{seed}")
            run(settings(method, env, seed=seed, **TINY), folders[-1])
        found = [read_json(f / "result.json", "a run's result") for f in folders]
        del config["seed"]
        curves = [read_metrics(f) for f in folders]
        made.append(Series(label, task, method, env, config, [0, 1], folders, curves, found, {}))
    experiments = [Experiment("base", "Base results", "Short runs.", False, made)]
    command = "policy-inertia study tiny"
    return Results("Tiny", "Two methods, two seeds.", command, {}, folder, experiments, [])
