"""Results to report: drawn from a generator, or from real runs of a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.run_settings import settings
from policy_inertia.study.analysis.learning_curves import EVALUATION
from policy_inertia.study.folder import read_result
from policy_inertia.study.results import ExperimentResults, LineResults, Results
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.loop import run


def figures(
    return_: float, oscillation: float, crashes: float | None, mu: float | None = None
) -> dict[str, Any]:
    """The figures of an evaluation; an env that reports no crashes ends a fifth of its episodes."""
    return {
        "return": return_,
        "oscillation_ratio": oscillation,
        "crash_rate": crashes,
        "termination_rate": 0.2 if crashes is None else crashes,
        "mu_mean": mu,
    }


def line(
    label: str,
    return_: float = 17,
    oscillation: float = 0.4,
    crashes: float | None = 0.2,
    mu: float | None = None,
    task: str = "Two-Way",
    seeds: int = 5,
    thresholds: tuple[float, ...] = (),
) -> LineResults:
    """A method whose seeds scatter around the given figures; with `mu` it has a controller."""
    rng = np.random.default_rng([*label.encode(), *task.encode()])
    results, curves = [], []
    filtered: dict[float, list[dict[str, Any]]] = {tau: [] for tau in thresholds}
    for _ in range(seeds):
        r, o = return_ + rng.normal(0, 0.6), _share(oscillation + rng.normal(0, 0.02))
        c = None if crashes is None else _share(crashes + rng.normal(0, 0.03))
        result = {"step": 100_000, "sampled": figures(r, o, c, mu)}
        result["greedy"] = figures(r + 0.5, o * 0.6, c, mu)
        if mu is not None:
            result["core"] = figures(r - 0.5, min(1, o * 1.4), c)
        results.append(result)
        curves.append(_curve(rng, r, o, mu))
        for tau, each in filtered.items():
            smoother = figures(r - tau, o / (1 + 2 * tau), c)
            each.append({"sampled": smoother, "greedy": smoother})
    own = {"temperature": 0.01, "hidden": [64, 64]} | ({} if mu is None else {"mu0": 0.0})
    env = "policy_inertia/TwoWay-v0"
    config = {"method": label.lower(), "env": env, "steps": 100_000, "config": own}
    return LineResults(
        label, task, label.lower(), env, config, list(range(seeds)),
        [Path(f"runs/{label}/seed-{k}") for k in range(seeds)], curves, results, filtered,
    )  # fmt: skip


def _share(value: float) -> float:
    return float(np.clip(value, 0, 1))


def _curve(
    rng: np.random.Generator, return_: float, oscillation: float, mu: float | None
) -> list[dict[str, Any]]:
    """The records of a run that comes close to the given figures."""
    rise = 1 - np.exp(-np.arange(21) / 5)
    values = zip(rise, rng.normal(0, 0.5, 21), rng.normal(0, 0.02, 21), strict=True)
    return [
        {
            "step": 5_000 * k,
            f"{EVALUATION}return": 5 + (return_ - 5) * up + large,
            f"{EVALUATION}oscillation_ratio": 0.7 + (oscillation - 0.7) * up + small,
            f"{EVALUATION}mu_mean": None if mu is None else 0.5 + (mu - 0.5) * up + small,
        }
        for k, (up, large, small) in enumerate(values)
    ]


def experiment(*lines: LineResults, ablation: bool = False) -> ExperimentResults:
    """An experiment of these lines."""
    return ExperimentResults("base", "Base", "", ablation, list(lines))


def results(**changes: Any) -> Results:
    """A study of two tasks and an ablation, with numbers from a generator."""
    base = [
        x
        for task, higher in (("Two-Way", 0), ("Lane Change", 6))
        for x in (
            line("DQN", 16.5 + higher, 0.42, 0.2, task=task, thresholds=(0.1, 0.3, 1.0)),
            line("SAC", 17 + higher, 0.55, 0.18, task=task, thresholds=(0.1, 0.5, 1.0, 2.0)),
            line("NSAC", 17.2 + higher, 0.3, 0.17, mu=0.6, task=task),
        )
    ]
    bounds = [line(f"mu0 = {m}", 17 - 4 * m, 0.4 - 0.35 * m, 0.15, m + 0.2) for m in (0, 0.1, 0.5)]
    values: dict[str, Any] = {
        "title": "A synthetic study",
        "about": "Numbers drawn from a generator, to see what a report looks like.",
        "command": "policy-inertia study synthetic --out runs/synthetic",
        "versions": {"python": "3.11", "policy-inertia": "0.2.0"},
        "folder": Path("runs/synthetic"),
        "experiments": [
            ExperimentResults("base", "Base results", "DQN, SAC and NSAC.", False, base),
            ExperimentResults("mu0", "Lower bound", "NSAC with mu at least mu0.", True, bounds),
        ],
        "failed": [("base/NSAC/seed-5", "its process ended with code -9")],
    }
    return Results(**values | changes)


TINY: dict[str, Any] = {
    "steps": 2_000,
    "eval_every": 500,
    "eval_episodes": 3,
    "final_episodes": 4,
}


def trained(folder: Path, env: str, task: str, labels: dict[str, str]) -> Results:
    """Results of real runs of a few seconds: each method with two seeds."""
    lines = []
    for label, method in labels.items():
        folders = [folder / method / f"seed-{seed}" for seed in (0, 1)]
        for seed, path in enumerate(folders):
            run(settings(method, env, seed=seed, **TINY), path)
        config = settings(method, env, **TINY).to_dict()
        del config["seed"]
        figures = [read_result(f).to_dict() for f in folders]
        curves = [read_metrics(f) for f in folders]
        lines.append(
            LineResults(label, task, method, env, config, [0, 1], folders, curves, figures, {})
        )
    experiments = [ExperimentResults("base", "Base results", "Short runs.", False, lines)]
    command = "policy-inertia study tiny"
    return Results("Tiny", "Two methods, two seeds.", command, {}, folder, experiments, [])
