"""The result of `smooth`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policy_inertia.actions.bucket import Limit
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import RETURN
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.verdict import Candidate, Stakes, Verdict, comparison_table

BUDGETS = (0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.0)
"""Rows of the table of frontiers, below what the core does."""


@dataclass(frozen=True)
class Smoothed:
    """The result of `smooth`.

    Attributes:
        policy: The recommended policy.
        verdict: Its name and the reason.
        candidates: All policies that were compared, by name.
        stakes: The core, random actions, and the loss that was allowed.
        budget: Largest oscillation ratio that was allowed; None with a limit.
        limit: The limit on switching that every policy but the core keeps; None with a budget.
        task: The env's name.
        episodes: Number of held-out episodes.
        trained: Whether a controller was trained.
        seconds: Duration of everything.
        memory: Peak memory of the whole process, in MB.
        frontiers: What hysteresis and the controller do at every setting, on other episodes.
    """

    policy: Policy
    verdict: Verdict
    candidates: dict[str, Candidate]
    stakes: Stakes
    budget: float | None
    limit: Limit | None
    task: str
    episodes: int
    trained: bool
    seconds: float
    memory: float
    frontiers: dict[str, Calibration] = field(default_factory=dict)

    @property
    def recommended(self) -> str:
        """The name of the recommended policy: core, filter, hysteresis or controller."""
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
            "limit": self.limit and self.limit.to_dict(),
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
        note = (
            f"Means and 95% intervals over {self.episodes} held-out episodes of {self.task}, with "
            "greedy actions. They describe this core only, not other cores."
        )
        lines = [comparison_table(self.candidates.values()), note]
        if self.frontiers:
            lines += ["", frontier_table(self.frontiers, self.stakes.core.oscillation, self.budget)]
            lines += ["Mean returns at the setting that keeps each budget, on other episodes.", ""]
        lines.append(f"Recommended: {self.verdict}")
        if self.verdict.met and not self.trained:
            lines.append("Nothing was trained. --train trains a controller nevertheless.")
        return "\n".join([*lines, f"{self.seconds:.0f} s, {self.memory:.0f} MB at most."])


def frontier_table(
    frontiers: Mapping[str, Calibration], core_oscillation: float, budget: float | None
) -> str:
    """What each frontier returns within many budgets, as lines of text.

    Args:
        frontiers: Calibrations by name.
        core_oscillation: What the core does; looser budgets are left out.
        budget: The budget that was asked for; it gets a row of its own, with an arrow.
    """
    asked = () if budget is None else (budget,)
    budgets = sorted({b for b in BUDGETS if b < core_oscillation} | set(asked), reverse=True)
    head = ["budget", *(f"{name} ({t.setting_name})" for name, t in frontiers.items())]
    rows = [
        [
            f"{one:.3g}{' <-' if one == budget else ''}",
            *(_cell(table, one) for table in frontiers.values()),
        ]
        for one in budgets
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )


def _cell(table: Calibration, budget: float) -> str:
    try:
        row: Row = table.within(budget)
    except InputError:
        return "not reached"
    return f"{RETURN.show(row.figures[RETURN.name])} ({row.setting:.3g})"
