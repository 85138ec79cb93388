"""The result of `smooth`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from policy_inertia.actions.switching import Switching
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.metrics.measures import RETURN
from policy_inertia.smoothing.verdict import (
    Candidate,
    Stakes,
    Verdict,
    comparison_table,
    details_table,
    text_table,
)

Frontier = Calibration | FilterCurve

BUDGETS = (0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.0)
"""Rows of the table of frontiers, below what the core does."""


@dataclass(frozen=True)
class Smoothed:
    """The result of `smooth`.

    Attributes:
        policy: The recommended policy: a `Policy`, or a `ContinuousCore`.
        verdict: Its name and the reason.
        candidates: All policies that were compared, by name.
        stakes: The core, random actions, and the loss that was allowed.
        budget: Largest oscillation ratio, or action fluctuation, that was allowed; None with a
            limit alone.
        limit: The limit that every policy but the core keeps; None without one.
        task: The env's name.
        episodes: Number of held-out episodes.
        trained: Whether a controller was trained.
        seconds: Duration of everything.
        memory: Peak memory of the whole process, in MB.
        rules: The rules of switching that every policy but the core keeps; None without any.
        frontiers: What filters and the controller do at every setting, on other episodes.
    """

    policy: Any
    verdict: Verdict
    candidates: dict[str, Candidate]
    stakes: Stakes
    budget: float | None
    limit: Any
    task: str
    episodes: int
    trained: bool
    seconds: float
    memory: float
    rules: Switching | None = None
    frontiers: dict[str, Frontier] = field(default_factory=dict)

    @property
    def recommended(self) -> str:
        """The name of the recommended policy, such as core, hysteresis or controller."""
        return self.verdict.name

    def to_dict(self) -> dict[str, Any]:
        """Everything except the policies, as JSON."""
        losses = {
            name: self.stakes.loss_of(candidate).to_dict()
            for name, candidate in self.candidates.items()
        }
        return {
            "recommended": self.verdict.name,
            "reason": self.verdict.reason,
            "met": self.verdict.met,
            "trained": self.trained,
            "budget": self.budget,
            "limit": None if self.limit is None else asdict(self.limit),
            "switching": self.rules and self.rules.to_dict(),
            "loss": self.stakes.loss,
            "random_return": self.stakes.random_return,
            "task": self.task,
            "episodes": self.episodes,
            "seconds": self.seconds,
            "memory_mb": self.memory,
            "candidates": {
                name: {**candidate.to_dict(), "loss_of_gain": losses[name]}
                for name, candidate in self.candidates.items()
            },
            "frontiers": {name: table.to_dict() for name, table in self.frontiers.items()},
        }

    def __str__(self) -> str:
        wording = self.stakes.wording
        note = (
            f"Means and 95% intervals over {self.episodes} held-out episodes of {self.task}, "
            f"{wording.actions}. They describe this core only, not other cores."
        )
        lines = [comparison_table(self.candidates.values()), note]
        if wording.details:
            lines += ["", details_table(self.candidates.values(), wording.details)]
        if self.frontiers:
            amount = self.stakes.amount(self.stakes.core)
            lines += ["", frontier_table(self.frontiers, amount, self.budget)]
            within = "" if self.limit is None else ", all within the limit"
            note = f"Mean returns at the setting that keeps each budget, on other episodes{within}."
            lines += [note, ""]
        lines.append(f"Recommended: {self.verdict}")
        if self.verdict.met and not self.trained and wording.after:
            lines.append(wording.after)
        return "\n".join([*lines, f"{self.seconds:.0f} s, {self.memory:.0f} MB at most."])


def frontier_table(
    frontiers: Mapping[str, Frontier], core_amount: float, budget: float | None
) -> str:
    """What each frontier returns within many budgets, as lines of text.

    Args:
        frontiers: Calibrations by name.
        core_amount: What the core does; looser budgets are left out.
        budget: The budget that was asked for; it gets a row of its own, with an arrow.
    """
    asked = () if budget is None else (budget,)
    budgets = sorted({b for b in BUDGETS if b < core_amount} | set(asked), reverse=True)
    head = ["budget", *(f"{name} ({t.setting_name})" for name, t in frontiers.items())]
    rows = [
        [
            f"{one:.3g}{' <-' if one == budget else ''}",
            *(_cell(table, one) for table in frontiers.values()),
        ]
        for one in budgets
    ]
    return text_table([head, *rows])


def _cell(table: Frontier, budget: float) -> str:
    try:
        row = table.within(budget)
    except InputError:
        return "not reached"
    return f"{RETURN.show(row.figures[RETURN.name])} ({row.setting:.3g})"
