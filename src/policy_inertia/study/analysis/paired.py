"""One policy minus every other at the same budget: paired by seed, corrected for many cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from policy_inertia.errors import InputError
from policy_inertia.study.analysis.at_budget import Actions, AtBudget, difference
from policy_inertia.study.analysis.statistics import Estimate, corrected

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class PairedDifference:
    """Ours minus a rival's, at one task and budget.

    `p` is Student's paired p-value after Holm's correction for all cells of the table; None if
    there are fewer than two seeds, or if a seed keeps the budget with one of the two only: such
    seeds are not missing by chance.
    """

    task: str
    rival: str
    budget: float
    estimate: Estimate
    whole: bool
    p: float | None = None

    @property
    def resolved(self) -> bool:
        """Whether the difference stands after the correction."""
        return self.p is not None and self.p < SIGNIFICANT


def paired_differences(
    rows: Sequence[AtBudget], ours: str, figure: str, actions: Actions = "greedy"
) -> list[PairedDifference]:
    """Return `ours` minus every other policy in one figure, at every task and budget of both.

    Args:
        rows: policies at their budgets.
        ours: the name of the policy to compare.
        figure: a figure of the records, such as "return".
        actions: which of the rows to compare.

    Raises:
        InputError: no policy has that name.
    """
    here = [row for row in rows if row.actions == actions]
    names = list(dict.fromkeys(row.name for row in here))
    if ours not in names:
        raise InputError(f"these records have no policy '{ours}': they have {', '.join(names)}")
    own = {(row.task, row.budget): row for row in here if row.name == ours}
    cells = []
    for row in here:
        mine = own.get((row.task, row.budget))
        if mine is None or row is mine:
            continue
        estimate = difference(mine, row, figure)
        if estimate is not None:
            whole = _is_whole(mine, row, estimate)
            cells.append(PairedDifference(row.task, row.name, row.budget, estimate, whole))
    p_values = corrected([cell.estimate if cell.whole else None for cell in cells])
    return [replace(cell, p=p) for cell, p in zip(cells, p_values, strict=True)]


Difference = tuple[AtBudget, AtBudget | None, Estimate | None]
"""Ours, a rival, and ours minus the rival's in one figure; None where there is no rival."""


def standing_differences(differences: Sequence[Difference]) -> list[bool]:
    """Return which differences stand after Holm's correction for all of them.

    As in `paired_differences`, one in which a seed lacks a partner is not tested.
    """
    whole = [
        e if theirs is not None and e is not None and _is_whole(ours, theirs, e) else None
        for ours, theirs, e in differences
    ]
    return [p is not None and p < SIGNIFICANT for p in corrected(whole)]


def _is_whole(ours: AtBudget, theirs: AtBudget, e: Estimate) -> bool:
    """Whether every seed of both keeps the budget."""
    return e.seeds == max(ours.seeds, theirs.seeds)
