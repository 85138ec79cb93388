"""How often budgets and limits are kept on fresh episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy_inertia.study.analysis.at_budget import (
    CORE,
    IN_BUCKET,
    TUNED,
    VIOLATIONS,
    Actions,
    Record,
    budget_measure,
)
from policy_inertia.study.analysis.constant_action import LABEL, RANDOM

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class KeptBudgets:
    """How often policies that keep a budget in one way are above it on the reported episodes.

    Attributes:
        name: How the budget is kept.
        chosen_by: What of the oscillation in calibration had to be within the budget; empty if the
            records do not say it.
        cells: Number of runs at a budget.
        above: How many of them are above it.
    """

    name: str
    chosen_by: str
    cells: int
    above: int


def kept_budgets(records: Sequence[Record], actions: Actions = "greedy") -> list[KeptBudgets]:
    """Count the cells above their budget by the way to keep it.

    Policies that learn nothing are left out.
    """
    measure, groups = budget_measure(records), dict[tuple[str, str], list[bool]]()
    for r in records:
        measured = r.figures.get(measure.name)
        if r.actions == actions and measured is not None and r.label not in (LABEL, RANDOM):
            groups.setdefault((_way(r.label), r.chosen_by), []).append(measured > r.budget)
    return [KeptBudgets(*key, len(above), sum(above)) for key, above in groups.items()]


def _way(label: str) -> str:
    for end in (TUNED, IN_BUCKET):
        if label.endswith(end):
            return end.removeprefix(", ")
    return CORE.strip() if label.startswith(CORE) else AS_IT_IS


@dataclass(frozen=True)
class Violations:
    """How often limits were violated: in all final episodes of so many cells."""

    cells: int
    count: int


def limit_violations(records: Sequence[Record]) -> Violations | None:
    """Sum the violations of limits; None if no record has counted them."""
    greedy = [r for r in records if r.actions == "greedy"]  # both rows of a run have the same count
    counts = [r.figures[VIOLATIONS] for r in greedy if VIOLATIONS in r.figures]
    return Violations(len(counts), int(sum(counts))) if counts else None
