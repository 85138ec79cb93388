"""What a controller costs around other people's policies, compared with hysteresis.

Losses are shares of what the core gains over random actions, one number for each seed. A core that
is no better than random actions is left out. The two are compared at the same oscillation ratio, or
in old records, which have no such figures, at the settings that were chosen for the same budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.study.analysis.core_gain import better_than_random, gain
from policy_inertia.study.analysis.paired import SIGNIFICANT
from policy_inertia.study.analysis.statistics import Estimate, holm, mean_and_t_interval
from policy_inertia.study.core_plan import LOSS
from policy_inertia.study.core_records import CoreRecord

POLICIES = ("hysteresis", "controller")


@dataclass(frozen=True)
class TransferAtBudget:
    """The policies of one cell at one budget.

    Attributes:
        cell: Title of the cell.
        budget: The budget, as a share of the core's oscillation ratio.
        losses: The return that is lost against the core, by policy, one number for each seed.
        oscillation: Oscillation ratios at the chosen settings, by policy.
        within_budget: In how many seeds the chosen setting keeps the budget, by policy.
        levels: The oscillation ratios at which the losses are compared, one for each seed; empty if
            they are compared at the chosen settings.
        recommended: What the recommended policy loses against the core.
        p: Student's p-value of "the controller loses as much as hysteresis", paired by seed, after
            Holm's correction for all rows; None if it is unknown.
    """

    cell: str
    budget: float
    losses: dict[str, list[float]] = field(default_factory=dict)
    oscillation: dict[str, list[float]] = field(default_factory=dict)
    within_budget: dict[str, int] = field(default_factory=dict)
    levels: list[float] = field(default_factory=list)
    recommended: list[float] = field(default_factory=list)
    p: float | None = None

    @property
    def differences(self) -> list[float]:
        """What the controller loses more than hysteresis, by seed; negative if it is better."""
        pairs = zip(self.losses["controller"], self.losses["hysteresis"], strict=True)
        return [ours - theirs for ours, theirs in pairs]

    @property
    def difference(self) -> Estimate:
        """The mean of the differences."""
        return mean_and_t_interval(self.differences)

    @property
    def upper(self) -> float:
        """The one-sided upper 95% bound of the mean difference."""
        return upper_bound(self.differences)

    @property
    def resolved(self) -> bool:
        """Whether the difference stands after the correction."""
        return self.p is not None and self.p < SIGNIFICANT

    @property
    def misses(self) -> int:
        """In how many seeds the recommended policy loses more than it was allowed to."""
        return sum(loss > LOSS for loss in self.recommended)


def transfer_losses(cells: Mapping[str, Sequence[CoreRecord]]) -> list[TransferAtBudget]:
    """Return every cell at every budget; `cells` has records by the title of their cell."""
    rows = []
    for title, records in cells.items():
        usable = better_than_random(records)
        budgets = usable[0].figures["policies"] if usable else ()
        rows += [_row(title, budget, usable) for budget in budgets]
    known = [(i, p) for i, row in enumerate(rows) if (p := row.difference.p) is not None]
    adjusted = holm([p for _, p in known])
    for (i, _), p in zip(known, adjusted, strict=True):
        rows[i] = replace(rows[i], p=p)
    return rows


def _row(title: str, budget: str, records: Sequence[CoreRecord]) -> TransferAtBudget:
    row = TransferAtBudget(
        title,
        float(budget),
        {name: [] for name in POLICIES},
        {name: [] for name in POLICIES},
        dict.fromkeys(POLICIES, 0),
    )
    measured = [record.figures["policies"][budget] for record in records]
    matched = all("level" in level for level in measured)
    compared = "return_at_level" if matched else RETURN.name
    for record, level in zip(records, measured, strict=True):
        core, ratios = record.figures["core"], {x: level[x][OSCILLATION.name] for x in POLICIES}
        for name, ratio in ratios.items():
            loss = (core[RETURN.name] - level[name][compared]) / gain(record)
            row.losses[name].append(loss)
            row.oscillation[name].append(ratio)
            row.within_budget[name] += ratio <= record.figures["budgets"][budget]
        recommended = {"core": core, **level}[level["recommended"]]
        row.recommended.append((core[RETURN.name] - recommended[RETURN.name]) / gain(record))
        if matched:
            row.levels.append(level["level"])
    return row
