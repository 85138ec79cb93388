"""Learning curves over seeds, from the runs' metrics.jsonl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.metrics.measures import Measure
from policy_inertia.study.analysis.statistics import CurveStatistic, curve
from policy_inertia.study.results import LineResults

EVALUATION = "eval/"  # how metrics.jsonl prefixes the measures of an evaluation


@dataclass(frozen=True)
class LearningCurve:
    """A measure of one line at each evaluation; one seed has no interval."""

    label: str
    steps: np.ndarray
    centre: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None


def learning_curves(
    lines: Sequence[LineResults], measure: Measure, statistic: CurveStatistic = "iqm"
) -> list[LearningCurve | None]:
    """Return a curve for each line; None if its runs did not log the measure."""
    curves: list[LearningCurve | None] = []
    for line in lines:
        steps, values = aligned(line.curves, EVALUATION + measure.name)
        known = values.size and not np.isnan(values).all()
        curves.append(
            LearningCurve(line.label, steps, *curve(values, statistic)) if known else None
        )
    return curves


def aligned(runs: Sequence[Sequence[dict[str, Any]]], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps that all runs have reached, and `key` there (seeds x steps).

    A record without the key has NaN.
    """
    n = min(len(records) for records in runs)
    steps = np.array([record["step"] for record in runs[0][:n]])
    return steps, np.array([[r.get(key) for r in records[:n]] for records in runs], float)
