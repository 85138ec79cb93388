"""How often do other episodes keep a budget that a calibration chose a threshold for?

    python benchmarks/budgets.py

Trains two methods on two tasks for a short time, and runs many episodes at every threshold of
hysteresis, once. Then it calibrates again and again: it draws some of the episodes, takes the
threshold that keeps a random budget by them, and looks at other episodes. The threshold is chosen
by the mean, or by the upper bound, as `Policy.with_budget` does.
"""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import policy_inertia as pi
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.measures import OSCILLATION

TASKS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {},
    "policy_inertia/TwoWay-v0": {"config": {"scenario": "simple"}},
}
METHODS = ("dqn", "sac")


@dataclass(frozen=True)
class Options:
    """How often are budgets kept?"""

    tasks: tuple[str, ...] = tuple(TASKS)
    """The tasks."""
    steps: int = 10_000
    """Steps of training."""
    pool: int = 500
    """Episodes at every threshold."""
    calibration: int = 50
    """Episodes of a calibration."""
    fresh: int = 100
    """Other episodes that shall keep the budget."""
    repetitions: int = 2_000
    """Calibrations of each policy, each with a budget of its own."""


def ratios(policy: pi.Policy, task: str, options: Options) -> tuple[Calibration, np.ndarray]:
    """A calibration, and the oscillation ratio of every episode at each of its settings."""
    kwargs = TASKS[task]
    policy = calibrate(policy, task, 20, env_kwargs=kwargs)
    table = policy.calibration
    assert table is not None
    values = []
    with opened(task, options.pool, kwargs) as envs:
        episodes = Episodes(envs, options.pool, seed=1)
        for row in table.rows:
            ratio = OSCILLATION.values(episodes.run(policy.with_setting(row.setting)))
            assert ratio is not None
            values.append(ratio)
    return table, np.array(values)


def outcomes_of(table: Calibration, values: np.ndarray, options: Options) -> dict[str, list[bool]]:
    """Whether other episodes keep the budget, for each way to choose the threshold."""
    rng = np.random.default_rng(0)
    outcomes: dict[str, list[bool]] = {}
    for _ in range(options.repetitions):
        drawn = rng.permutation(values.shape[1])
        first, other = np.split(drawn[: options.calibration + options.fresh], [options.calibration])
        rows = [
            dataclasses.replace(
                row,
                figures={**row.figures, OSCILLATION.name: float(own[first].mean())},
                oscillation_bound=upper_bound(own[first]),
            )
            for row, own in zip(table.rows, values, strict=True)
        ]
        budget = rng.uniform(values[-1].mean(), values[0].mean())
        for way, bounded in (("mean", False), ("bound", True)):
            own_rows = [
                row if bounded else dataclasses.replace(row, oscillation_bound=None) for row in rows
            ]
            try:
                setting = dataclasses.replace(table, rows=tuple(own_rows)).within(budget).setting
            except pi.InputError:
                continue
            i = next(i for i, row in enumerate(rows) if row.setting == setting)
            for name, after in (("other episodes", values[i][other]), ("all", values[i])):
                outcomes.setdefault(f"{way}, {name}", []).append(bool(after.mean() <= budget))
    return outcomes


def main(options: Options) -> None:
    totals: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for task, method in itertools.product(options.tasks, METHODS):
            out = Path(folder) / f"{method}-{task.replace('/', '-')}"
            brief: dict[str, Any] = {
                "steps": options.steps,
                "eval_every": options.steps,
                "eval_episodes": 2,
            }
            policy = pi.train(method, task, out, env_kwargs=TASKS[task], final_episodes=2, **brief)
            table, values = ratios(policy, task, options)
            outcomes = outcomes_of(table, values, options)
            low, high = values[-1].mean(), values[0].mean()
            print(f"{method} on {task}: {high:.2f} to {low:.2f} at {len(values)} thresholds")
            for name, each in outcomes.items():
                totals.setdefault(name, []).extend(each)
                print(f"  {name}: {np.mean(each):.1%} of {len(each)}", flush=True)
    for name, each in totals.items():
        print(f"{name}: {np.mean(each):.1%} of {len(each)}")


if __name__ == "__main__":
    main(tyro.cli(Options))
