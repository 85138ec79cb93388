"""Estimates over seeds, never over episodes: every run contributes one number.

A *stratum* holds one number for each seed of one method on one task. Several strata are several
tasks, and the bootstrap draws inside each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from policy_inertia.errors import InputError
from policy_inertia.metrics.estimates import LEVEL, t_interval

Statistic = Literal["iqm", "paper"]
CurveStatistic = Literal["iqm", "paper", "mean"]
"""Curves can also have the mean and Student's interval, as all tables of differences do."""
Strata = Sequence[Sequence[float] | np.ndarray]
REPETITIONS = 10_000


@dataclass(frozen=True)
class Estimate:
    """A number over seeds with its interval; a single seed has no interval."""

    value: float
    low: float | None
    high: float | None
    seeds: int  # in the smallest stratum
    confident: bool = True  # False if low and high are no confidence interval
    p: float | None = None  # Student's two-sided p-value of "the mean is 0", where it was computed

    def above(self, other: Estimate) -> bool:
        """Return whether this interval lies above the other one and does not touch it."""
        return self.low is not None and other.high is not None and self.low > other.high

    def excludes(self, value: float) -> bool:
        """Return whether the interval leaves `value` out."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def iqm(values: np.ndarray) -> np.ndarray:
    """Return the interquartile mean along the last axis: the mean without the outer quarters.

    As usual in the field, a quarter is rounded down: of five seeds the middle three count, of three
    seeds all.
    """
    n = values.shape[-1]
    cut = n // 4
    return np.sort(values, axis=-1)[..., cut : n - cut].mean(axis=-1)


def interquartile_mean(
    strata: Strata, seed: int = 0, repetitions: int = REPETITIONS, level: float = LEVEL
) -> Estimate:
    """Return the IQM over all strata together, with a stratified bootstrap percentile interval."""
    arrays = _arrays(strata)
    value = float(iqm(np.concatenate(arrays)))
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([a[_draws(rng, repetitions, len(a))] for a in arrays], axis=1)
    return _with_interval(value, iqm(drawn), arrays, level)


def mean_and_half_deviation(strata: Strata) -> Estimate:
    """Return the paper's statistic: the mean, plus and minus half a standard deviation (n - 1).

    With several strata, both numbers are averaged over them.
    """
    arrays = _arrays(strata)
    value, seeds = float(np.mean([a.mean() for a in arrays])), min(map(len, arrays))
    if seeds < 2:
        return Estimate(value, None, None, seeds)
    half = float(np.mean([a.std(ddof=1) for a in arrays])) / 2
    return Estimate(value, value - half, value + half, seeds, confident=False)


def mean_and_t_interval(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> Estimate:
    """Return the mean of one stratum with Student's interval; every seed counts, good or bad."""
    (array,) = _arrays([values])
    value, n = float(array.mean()), len(array)
    ends = t_interval(array, level)
    if ends is None:
        return Estimate(value, None, None, n)
    error = float(array.std(ddof=1) / np.sqrt(n))
    certain = 1.0 if value == 0 else 0.0  # without any spread
    p = float(2 * stdtr(n - 1, -abs(value) / error)) if error > 0 else certain
    return Estimate(value, *ends, n, p=p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction: the chance of one false claim among them all."""
    n = len(p_values)
    adjusted, largest = [0.0] * n, 0.0
    for rank, i in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (n - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def corrected(estimates: Sequence[Estimate | None]) -> list[float | None]:
    """Return the p-value of each estimate after Holm's correction; None where there is none."""
    known = [(i, e.p) for i, e in enumerate(estimates) if e is not None and e.p is not None]
    p_values: list[float | None] = [None] * len(estimates)
    for (i, _), p in zip(known, holm([p for _, p in known]), strict=True):
        p_values[i] = p
    return p_values


def estimate(strata: Strata, statistic: Statistic = "iqm", seed: int = 0) -> Estimate:
    """Return the interquartile mean ("iqm") or the paper's statistic ("paper")."""
    if statistic == "iqm":
        return interquartile_mean(strata, seed)
    return mean_and_half_deviation(strata)


def probability_of_improvement(
    ours: Strata,
    theirs: Strata,
    higher_is_better: bool = True,
    seed: int = 0,
    repetitions: int = REPETITIONS,
    level: float = LEVEL,
) -> Estimate:
    """Return the probability that a run of ours beats a run of theirs on the same task.

    A tie counts half. On each task this is Mann and Whitney's U divided by the number of pairs, and
    the result is the average over tasks. The bootstrap draws both sides independently.
    """
    a, b = _arrays(ours), _arrays(theirs)
    if len(a) != len(b):
        raise InputError(
            f"one side has {len(a)} tasks and the other {len(b)}: compare on the same tasks"
        )
    rng = np.random.default_rng(seed)
    values, boots = [], []
    for x, y in zip(a, b, strict=True):
        sign = 1 if higher_is_better else -1
        wins = (np.sign(sign * (x[:, None] - y[None, :])) + 1) / 2
        # how often each seed was drawn: gives U of the drawn sample without building its pairs
        times_x = _counts(rng, repetitions, len(x))
        times_y = _counts(rng, repetitions, len(y))
        values.append(wins.mean())
        boots.append(((times_x @ wins) * times_y).sum(axis=1) / wins.size)
    return _with_interval(float(np.mean(values)), np.mean(boots, axis=0), a + b, level)


def curve(
    values: np.ndarray, statistic: CurveStatistic = "iqm", seed: int = 0, repetitions: int = 2_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | tuple[np.ndarray, None, None]:
    """Return centre, low and high at each step of learning curves (seeds x steps).

    A bootstrap sample draws whole runs: the same runs at every step. If a seed has no number at a
    step, the result has none there.
    """
    n = len(values)
    if statistic != "iqm":
        centre = values.mean(axis=0)
        if n < 2:
            return centre, None, None
        share = 0.5 if statistic == "paper" else stdtrit(n - 1, (1 + LEVEL) / 2) / np.sqrt(n)
        half = share * values.std(axis=0, ddof=1)
        return centre, centre - half, centre + half
    centre = np.where(np.isnan(values).any(axis=0), np.nan, iqm(values.T))
    if n < 2:
        return centre, None, None
    drawn = _draws(np.random.default_rng(seed), repetitions, n)
    ends = np.full((2, values.shape[1]), np.nan)
    for t in np.flatnonzero(~np.isnan(centre)):
        ends[:, t] = np.percentile(iqm(values[:, t][drawn]), _ends(LEVEL))
    return centre, ends[0], ends[1]


def leaders(estimates: Sequence[Estimate | None], higher_is_better: bool) -> list[str]:
    """Mark each estimate: "best", "tied", or "" if it is neither.

    "best" needs an interval that is apart from all others. Otherwise the leader is "tied" with
    every estimate whose interval overlaps its own. Nothing is marked without confidence intervals,
    or if there are fewer than two estimates.
    """
    known = [e for e in estimates if e is not None]
    if len(known) < 2 or any(e.low is None or not e.confident for e in known):
        return [""] * len(estimates)
    sign = 1 if higher_is_better else -1
    leader = max(known, key=lambda e: sign * e.value)

    def overlaps(e: Estimate) -> bool:
        return not (leader.above(e) if higher_is_better else e.above(leader))

    close = [e is not None and overlaps(e) for e in estimates]
    mark = "best" if sum(close) == 1 else "tied"
    return [mark if c else "" for c in close]


def _arrays(strata: Strata) -> list[np.ndarray]:
    if not len(strata) or not all(len(s) for s in strata):
        raise InputError("there is no seed to estimate from: finish at least one run of each task")
    arrays = [np.asarray(s, float) for s in strata]
    broken = sum(int((~np.isfinite(a)).sum()) for a in arrays)
    if broken:
        total = sum(map(len, arrays))
        raise InputError(
            f"{broken} of {total} seeds have no finite number here: leave those runs out or run "
            "them again; nothing is estimated from the other seeds"
        )
    return arrays


def _draws(rng: np.random.Generator, repetitions: int, n: int) -> np.ndarray:
    return rng.integers(n, size=(repetitions, n))


def _counts(rng: np.random.Generator, repetitions: int, n: int) -> np.ndarray:
    return rng.multinomial(n, np.full(n, 1 / n), repetitions).astype(float)


def _ends(level: float) -> list[float]:
    return [50 * (1 - level), 50 * (1 + level)]


def _with_interval(
    value: float, drawn: np.ndarray, arrays: list[np.ndarray], level: float
) -> Estimate:
    seeds = min(map(len, arrays))
    if seeds < 2:
        return Estimate(value, None, None, seeds)
    low, high = np.percentile(drawn, _ends(level))
    return Estimate(value, float(low), float(high), seeds)
