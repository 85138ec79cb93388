"""Judge the claims of a paper by the figures of a study: by one rule, without a hand.

A claim has cells, such as one for each task, and a cell has conditions: one figure of one policy
minus that of another, with sampled actions, is lower, higher, or kept. Differences are paired by
seed. `RULE` says the same in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from policy_inertia.metrics.estimates import LEVEL
from policy_inertia.metrics.measures import MEASURES, RETURN, Measure
from policy_inertia.study.analysis.paired import SIGNIFICANT
from policy_inertia.study.analysis.statistics import Estimate, corrected, mean_and_t_interval
from policy_inertia.study.results import LineResults, Results

MARGIN = 0.05
"""The loss that still counts as kept, as a share of the other policy's mean."""
IDLE = 0.95
"""A controller whose mu is under 0.05 at this share of steps and more does nothing."""
RULE = (
    f"A figure is *lower* or *higher* if the mean difference, paired by seed, has that sign and "
    f"its p-value (Student's t) is below {SIGNIFICANT:g} after Holm's correction for all such "
    f"conditions of the claim. It is *kept* if the {LEVEL:.0%} t-interval of the difference "
    f"leaves out every loss above {MARGIN:.0%} of the other policy's mean. A cell holds if all of "
    "its conditions do. A claim is *reproduced* if all of its cells hold, *not* if none does, and "
    "*partly* otherwise. A claim with a missing record is *not run*. A condition that fails is "
    f"*refuted* if its {LEVEL:.0%} t-interval allows nothing of what is wanted, otherwise *open*."
)

Wanted = Literal["lower", "higher", "kept"]


class Side(NamedTuple):
    """A line of the study."""

    experiment: str
    task: str
    label: str


@dataclass(frozen=True)
class Condition:
    """Ours minus theirs in one figure, and which sign a claim gives to it.

    Attributes:
        measure: The figure.
        wanted: What the claim says of the difference.
        ours: The first policy.
        theirs: The second policy.
        about: The difference in words.
        minus: A second pair, whose difference is subtracted.
    """

    measure: Measure
    wanted: Wanted
    ours: Side
    theirs: Side
    about: str
    minus: tuple[Side, Side] | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.ours, self.theirs, *(self.minus or ()))


@dataclass(frozen=True)
class Cell:
    """A part of a claim, such as its part about one task."""

    name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    Attributes:
        text: The statement.
        place: Where the paper makes it.
        cells: What it says, part by part.
        inertia: The label of lines whose learned inertia may explain the outcome.
    """

    text: str
    place: str
    cells: tuple[Cell, ...]
    inertia: str = ""

    @property
    def sides(self) -> list[Side]:
        """Every line that the claim needs, once."""
        each = (s for cell in self.cells for c in cell.conditions for s in c.sides)
        return list(dict.fromkeys(each))


@dataclass(frozen=True)
class Effect:
    """A condition as it was measured.

    Attributes:
        condition: The condition.
        differences: Ours minus theirs, by seed.
        scale: The size of the other policy's mean, which a loss is a share of.
        p: Student's p-value after Holm's correction; None for "kept", or without two seeds.
    """

    condition: Condition
    differences: dict[int, float]
    scale: float
    p: float | None = None

    @property
    def kind(self) -> tuple[Measure, str]:
        """Which difference it is: the figure, and the policies in words."""
        return self.condition.measure, self.condition.about

    @property
    def estimate(self) -> Estimate | None:
        """The mean of the differences; None without a seed."""
        values = list(self.differences.values())
        return mean_and_t_interval(values) if values else None

    @property
    def holds(self) -> bool:
        e = self.estimate
        if e is None or e.low is None:
            return False
        if self.condition.wanted == "kept":
            return e.low >= -MARGIN * self.scale
        sign = -1 if self.condition.wanted == "lower" else 1
        return self.p is not None and self.p < SIGNIFICANT and e.value * sign > 0

    @property
    def refuted(self) -> bool:
        """Whether the interval allows nothing of what is wanted; otherwise a failure is open."""
        e, wanted = self.estimate, self.condition.wanted
        if e is None or e.low is None or e.high is None:
            return False
        if wanted == "kept":
            return e.high < -MARGIN * self.scale
        return e.low > 0 if wanted == "lower" else e.high < 0


@dataclass(frozen=True)
class Judgement:
    """A claim, its cells as they were measured, and how many of its records exist."""

    claim: Claim
    cells: dict[str, list[Effect]]
    records: int
    needed: int
    idle: tuple[int, int] | None  # runs whose controller does nothing, of how many

    @property
    def holding(self) -> int:
        """The number of cells that hold."""
        return sum(all(effect.holds for effect in cell) for cell in self.cells.values())

    @property
    def verdict(self) -> str:
        """The word that `RULE` gives."""
        if self.records < self.needed:
            return f"not run ({self.records} of {self.needed} records)"
        if self.holding == len(self.cells):
            return "reproduced"
        return "partly" if self.holding else "not"

    @property
    def effects(self) -> Iterator[tuple[str, Effect]]:
        """Every effect with the name of its cell."""
        return ((name, effect) for name, cell in self.cells.items() for effect in cell)

    def overall(self, measure: Measure, about: str) -> Estimate | None:
        """Return the mean of one difference over the cells, paired by seed; None without a seed.

        A return is a share of the other policy's mean, because tasks have returns of their own.
        """
        each = [e for _, e in self.effects if e.kind == (measure, about)]
        seeds = sorted(set.intersection(*(set(e.differences) for e in each)))
        if not seeds or any(e.scale == 0 for e in each):
            return None
        units = [e.scale if measure is RETURN else 1.0 for e in each]
        rows = [[e.differences[s] / u for e, u in zip(each, units, strict=True)] for s in seeds]
        return mean_and_t_interval(np.mean(rows, axis=1))

    @property
    def kinds(self) -> list[tuple[Measure, str]]:
        """The differences that the claim is about, each once."""
        return list(dict.fromkeys(effect.kind for _, effect in self.effects))


def judge(claim: Claim, results: Results, seeds: int) -> Judgement:
    """Measure every condition of a claim.

    Args:
        claim: The claim.
        results: The results of its study; lines may be missing, and lines may miss seeds.
        seeds: The number of seeds of the study.
    """
    lines = {Side(e.name, x.task, x.label): x for e in results.experiments for x in e.lines}
    conditions = [(cell.name, condition) for cell in claim.cells for condition in cell.conditions]
    effects = _corrected([_effect(condition, lines) for _, condition in conditions])
    cells: dict[str, list[Effect]] = {cell.name: [] for cell in claim.cells}
    for (name, _), effect in zip(conditions, effects, strict=True):
        cells[name].append(effect)
    known = [lines[side] for side in claim.sides if side in lines]
    own = [line for line in known if claim.inertia and line.label == claim.inertia]
    return Judgement(
        claim,
        cells,
        sum(len(line.seeds) for line in known),
        len(claim.sides) * seeds,
        idle_runs(own) if own else None,
    )


def idle_runs(lines: Sequence[LineResults]) -> tuple[int, int]:
    """Return how many runs of these lines have a controller that does nothing, of how many."""
    shares = [r["sampled"].get(MEASURES["mu_under_0.05"].name) for x in lines for r in x.results]
    known = [share for share in shares if share is not None]
    return sum(share >= IDLE for share in known), len(known)


def sampled(line: LineResults | None, measure: Measure) -> dict[int, float]:
    """Return a figure of the final evaluation with sampled actions, by seed."""
    if line is None:
        return {}
    values = {
        s: r["sampled"].get(measure.name) for s, r in zip(line.seeds, line.results, strict=True)
    }
    return {s: v for s, v in values.items() if v is not None}


def paired(ours: dict[int, float], theirs: dict[int, float]) -> dict[int, float]:
    """Return ours minus theirs at every seed of both."""
    return {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}


def _effect(condition: Condition, lines: dict[Side, LineResults]) -> Effect:
    ours, theirs, *more = (sampled(lines.get(side), condition.measure) for side in condition.sides)
    differences = paired(ours, theirs)
    if more:
        differences = paired(differences, paired(*more))
    return Effect(
        condition, differences, abs(float(np.mean(list(theirs.values())))) if theirs else 0.0
    )


def _corrected(effects: Sequence[Effect]) -> list[Effect]:
    """Give every tested difference its p-value after Holm's correction."""
    tested = [None if e.condition.wanted == "kept" else e.estimate for e in effects]
    return [replace(e, p=p) for e, p in zip(effects, corrected(tested), strict=True)]
