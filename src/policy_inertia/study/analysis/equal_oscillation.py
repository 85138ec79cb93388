"""A policy minus another one that a hysteresis filter brings to the same oscillation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from policy_inertia.calibration.matched import return_at
from policy_inertia.metrics.calibration_table import Row
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.study.analysis.paired import SIGNIFICANT
from policy_inertia.study.analysis.statistics import Estimate, corrected
from policy_inertia.study.results import LineResults

ACTIONS = "sampled"  # as the paper evaluates


def return_beyond_filter(ours: LineResults, rival: LineResults) -> dict[int, float]:
    """Return our return minus the filtered rival's at our oscillation ratio, by seed.

    The rival's return lies on the line between the thresholds around our ratio. Where even the
    unfiltered rival oscillates less, it is taken as it is. A seed is left out where no threshold
    brings the rival down to our ratio.
    """
    differences = {}
    for seed, result in zip(ours.seeds, ours.results, strict=True):
        if seed not in rival.seeds:
            continue
        own = result[ACTIONS]
        theirs = return_at(_filter_curve(rival, rival.seeds.index(seed)), own[OSCILLATION.name])
        if theirs > -math.inf:
            differences[seed] = own[RETURN.name] - theirs
    return differences


def _filter_curve(line: LineResults, i: int) -> list[Row]:
    """Return the i-th seed's policy as it is, and then with each threshold of the filter."""
    levels: list[tuple[float, dict[str, Any]]] = [(0.0, line.results[i][ACTIONS])]
    levels += [(tau, entries[i][ACTIONS]) for tau, entries in sorted(line.hysteresis.items())]
    return [Row(tau, figures) for tau, figures in levels]


def standing(estimates: Sequence[Estimate | None]) -> list[bool]:
    """Return which differences stand after Holm's correction for all of them."""
    return [p is not None and p < SIGNIFICANT for p in corrected(estimates)]
