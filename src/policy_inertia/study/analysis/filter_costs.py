"""What filters cost: the return that they lose, as a share of what their core gains over random.

Every seed contributes one number. A core that is no better than random actions has nothing to lose,
so it is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from policy_inertia.metrics.measures import FLUCTUATION, RETURN
from policy_inertia.study.analysis.core_gain import better_than_random, gain
from policy_inertia.study.analysis.paired import SIGNIFICANT
from policy_inertia.study.analysis.statistics import Estimate, holm, mean_and_t_interval
from policy_inertia.study.core_records import CoreRecord

SHARES = (FLUCTUATION.name, "jerk", "length")
"""Figures that are shown as shares of the core's."""


@dataclass(frozen=True)
class FilterAtBudget:
    """One filter of a cell at one budget, over the seeds that reach it.

    Attributes:
        filter: Its name.
        budget: The budget, as a share of the core's action fluctuation.
        seeds: Number of seeds of the cell.
        losses: The lost return as a share of (core - random), by seed.
        shares: Figures as shares of the core's, by name and seed.
    """

    filter: str
    budget: float
    seeds: int
    losses: dict[int, float] = field(default_factory=dict)
    shares: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether every seed reaches the budget."""
        return len(self.losses) == self.seeds

    @property
    def loss(self) -> Estimate:
        """The mean loss over seeds."""
        return mean_and_t_interval(list(self.losses.values()))

    def share(self, figure: str) -> Estimate:
        """The mean of a figure, as a share of the core's."""
        return mean_and_t_interval(list(self.shares[figure].values()))


@dataclass(frozen=True)
class BestFilter:
    """The filter with the smallest loss at one budget, and how sure it is.

    Attributes:
        cell: Name of the cell.
        best: The filter with the smallest mean loss among those that every seed reaches.
        second: The next one; None if no other filter is reached by every seed.
        difference: Loss of `second` minus that of `best`, paired by seed.
        p: Student's p-value after Holm's correction for all rows; None if it is unknown.
    """

    cell: str
    best: FilterAtBudget
    second: FilterAtBudget | None = None
    difference: Estimate | None = None
    p: float | None = None

    @property
    def resolved(self) -> bool:
        """Whether the difference stands after the correction."""
        return self.p is not None and self.p < SIGNIFICANT


def filter_costs(records: Sequence[CoreRecord]) -> list[FilterAtBudget]:
    """Return every filter at every budget of one cell, in the order of the records."""
    usable = better_than_random(records)
    rows: dict[tuple[str, str], FilterAtBudget] = {}
    for record in usable:
        core, seed = record.figures["core"], record.config["seed"]
        for name, budgets in record.figures["filters"].items():
            for budget, figures in budgets.items():
                empty = FilterAtBudget(
                    name, float(budget), len(usable), {}, {n: {} for n in SHARES}
                )
                row = rows.setdefault((name, budget), empty)
                if "unreachable" in figures:
                    continue
                row.losses[seed] = (core[RETURN.name] - figures[RETURN.name]) / gain(record)
                for figure in SHARES:
                    share = figures[figure] / core[figure] if core[figure] else 1.0
                    row.shares[figure][seed] = share
    return list(rows.values())


def best_filters(cells: Mapping[str, Sequence[FilterAtBudget]]) -> list[BestFilter]:
    """Return the best filter at every budget of every cell, compared with the next one.

    Only filters that every seed reaches are compared. The p-values are corrected by Holm's method
    for all cells and budgets. That the two filters were chosen by the same figures is not corrected
    for.
    """
    rows = []
    for cell, costs in cells.items():
        for budget in dict.fromkeys(row.budget for row in costs):
            whole = [row for row in costs if row.budget == budget and row.whole and row.losses]
            ranked = sorted(whole, key=lambda row: row.loss.value)
            if ranked:
                rows.append(_compared(cell, *ranked[:2]))
    tested = [i for i, row in enumerate(rows) if row.p is not None]
    adjusted = holm([p for p in (row.p for row in rows) if p is not None])
    for i, p in zip(tested, adjusted, strict=True):
        rows[i] = replace(rows[i], p=p)
    return rows


def _compared(cell: str, best: FilterAtBudget, second: FilterAtBudget | None = None) -> BestFilter:
    if second is None:
        return BestFilter(cell, best)
    difference = mean_and_t_interval([second.losses[s] - best.losses[s] for s in best.losses])
    return BestFilter(cell, best, second, difference, difference.p)
