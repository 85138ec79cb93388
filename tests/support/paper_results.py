"""Results of the paper's study: its lines with numbers from a generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from policy_inertia.study.declared.paper import STUDY
from policy_inertia.study.plan import Experiment, Line
from policy_inertia.study.results import ExperimentResults, LineResults, Results
from tests.support.synthetic_results import line

LEVELS = {"dqn": 0.45, "sac": 0.5, "nsac": 0.3}
"""Oscillation ratios of methods; all others have 0.25."""


def paper_line(experiment: Experiment, declared: Line) -> LineResults:
    """Draw a line of the study; half of the inertias by the gradient do nothing."""
    nested = declared.method.startswith("nsac")
    results = line(
        declared.label,
        oscillation=0.2 if "closed" in declared.label else LEVELS.get(declared.method, 0.25),
        mu=0.5 if nested else None,
        task=declared.task.name,
        thresholds=experiment.hysteresis,
    )
    for i, result in enumerate(results.results):
        idle = i % 2 and declared.label == "NSAC"
        result["sampled"]["mu_under_0.05"] = (0.99 if idle else 0.1) if nested else None
    return results


def paper_results(included: Callable[[Experiment], bool] = lambda _: True) -> Results:
    """Return the results of these experiments; the others have no finished run."""
    experiments = [
        ExperimentResults(
            e.name,
            e.title,
            e.about,
            e.ablation,
            [paper_line(e, x) for x in e.lines] if included(e) else [],
        )
        for e in STUDY.experiments
    ]
    return Results(STUDY.title, STUDY.about, "", {}, Path("results/paper"), experiments, [])
