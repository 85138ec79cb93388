"""A dial minus its best rivals, and minus the filter on its own core, at the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy_inertia.metrics.measures import CRASHES, RETURN
from policy_inertia.study.analysis.at_budget import (
    CORE,
    DISCOUNTED_RETURN,
    Actions,
    AtBudget,
    base_name,
    difference,
)
from policy_inertia.study.analysis.statistics import Estimate


@dataclass(frozen=True)
class RivalComparison:
    """A dial minus its best rivals at one task and budget, paired by seed.

    A rival is chosen by the reported figures, which favours it: the choice looks at the result.
    `best` has the highest return, `safest` the lowest crash rate, `most_valuable` the highest
    discounted return.
    """

    ours: AtBudget
    best: AtBudget
    return_: Estimate
    crash_rate: Estimate | None
    safest: AtBudget | None
    safest_crash_rate: Estimate | None
    most_valuable: AtBudget | None
    discounted_return: Estimate | None


def compare_with_rivals(rows: Sequence[AtBudget], ours: AtBudget) -> RivalComparison | None:
    """Compare `ours` with the rivals in `rows`; None if no rival keeps the budget as often.

    A rival is a policy without a dial that keeps the budget for at least as many seeds. The same
    policy within a limit is no rival, but its core is.
    """
    rivals = [
        m
        for m in rows
        if (m.task, m.budget, m.actions) == (ours.task, ours.budget, ours.actions)
        and not m.dial
        and base_name(m.name) != base_name(ours.name)
        and len(m.records) >= len(ours.records)
        and m.records.keys() & ours.records.keys()
    ]

    def against(figure: str, sign: int) -> tuple[AtBudget | None, Estimate | None]:
        known = [(e.value * sign, m) for m in rivals if (e := m.estimate(figure)) is not None]
        if not known or ours.estimate(figure) is None:
            return None, None
        best = max(known, key=lambda pair: pair[0])[1]
        return best, difference(ours, best, figure)

    best, return_ = against(RETURN.name, 1)
    if best is None or return_ is None:
        return None
    return RivalComparison(
        ours,
        best,
        return_,
        difference(ours, best, CRASHES.name),
        *against(CRASHES.name, -1),
        *against(DISCOUNTED_RETURN, 1),
    )


def rival_comparisons(rows: Sequence[AtBudget], actions: Actions) -> list[RivalComparison]:
    """Compare every dial at every budget that it keeps with its best rivals."""
    dials = [m for m in rows if m.actions == actions and m.dial]
    compared = [compare_with_rivals(rows, m) for m in dials]
    return [c for c in compared if c is not None]


@dataclass(frozen=True)
class CoreComparison:
    """A dial minus hysteresis on its own core, at one budget, paired by seed."""

    ours: AtBudget
    core: AtBudget
    return_: Estimate
    crash_rate: Estimate | None


def core_comparisons(rows: Sequence[AtBudget], actions: Actions) -> list[CoreComparison]:
    """Compare every dial at every budget with hysteresis on the very same core."""
    by_name = {(m.task, m.name, m.budget): m for m in rows if m.actions == actions}
    compared = []
    for (task, name, budget), ours in by_name.items():
        core = by_name.get((task, CORE + name, budget))
        return_ = None if core is None else difference(ours, core, RETURN.name)
        if core is not None and return_ is not None:
            crashes = difference(ours, core, CRASHES.name)
            compared.append(CoreComparison(ours, core, return_, crashes))
    return compared
