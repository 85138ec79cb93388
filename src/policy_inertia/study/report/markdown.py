"""Markdown tables: methods at the same oscillation."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.metrics.measures import CRASHES, OSCILLATION, RETURN
from policy_inertia.study.analysis.at_budget import (
    ACTIONS,
    DISCOUNTED_RETURN,
    Actions,
    AtBudget,
    CoreComparison,
    Record,
    RivalComparison,
    at_budgets,
    core_comparisons,
    rival_comparisons,
)
from policy_inertia.study.analysis.paired import PairedDifference, paired_differences
from policy_inertia.study.report.markdown_cells import head, interval, plus_minus, row, signed

RETURN_AND_CRASHES = {RETURN.name: ".1f", CRASHES.name: ".2f"}
DISCOUNTED = {DISCOUNTED_RETURN: ".1f"}
MEASURED = {OSCILLATION.name: ".3f"}


def budget_page(records: Sequence[Record]) -> str:
    """Return all tables of a study's policies at their budgets, for greedy and sampled actions."""
    rows = at_budgets(records)
    tables = []
    for actions in ACTIONS:
        tables += [
            budget_tables(rows, actions),
            budget_tables(rows, actions, MEASURED),
            budget_tables(rows, actions, DISCOUNTED),
            rival_table(rival_comparisons(rows, actions)) + "\n",
            core_table(core_comparisons(rows, actions)) + "\n",
        ]
    return "\n".join(tables)


def budget_tables(
    rows: Sequence[AtBudget], actions: Actions, formats: dict[str, str] = RETURN_AND_CRASHES
) -> str:
    """Return a table for each task: policies down, budgets across.

    Args:
        rows: policies at their budgets.
        actions: which of the rows to show.
        formats: the figures in a cell, each with its format.
    """
    shown = [m for m in rows if m.actions == actions]
    budgets = sorted({m.budget for m in shown})
    lines = []
    for task in dict.fromkeys(m.task for m in shown):
        lines += [f"**{task}**, {actions} actions", ""]
        lines += head("", *(f"ξ ≤ {b:g}" for b in budgets))
        here = [m for m in shown if m.task == task]
        for name in dict.fromkeys(m.name for m in here):
            cells = {m.budget: _budget_cell(m, formats) for m in here if m.name == name}
            lines.append(row(name, *(cells.get(b, "") for b in budgets)))
        lines.append("")
    return "\n".join(lines)


def _budget_cell(m: AtBudget, formats: dict[str, str]) -> str:
    if not m.records:
        return "–"
    parts = [plus_minus(m.estimate(figure), style) for figure, style in formats.items()]
    few = f" ({len(m.records)} of {m.seeds})" if len(m.records) < m.seeds else ""
    return " / ".join(p for p in parts if p) + few


def paired_page(records: Sequence[Record], ours: str) -> str:
    """Return a table for each task of one policy minus every other: return, then crash rate."""
    rows = at_budgets(records)
    pages = []
    for measure, style in ((RETURN, ".2f"), (CRASHES, ".3f")):
        cells = paired_differences(rows, ours, measure.name)
        if cells:
            pages.append(paired_tables(cells, f"{measure.label} of '{ours}' minus", style))
    return "\n".join(pages)


def paired_tables(cells: Sequence[PairedDifference], title: str, style: str) -> str:
    """Return a table for each task: rivals down, budgets across; what is resolved is bold."""
    budgets = sorted({c.budget for c in cells})
    lines = []
    for task in dict.fromkeys(c.task for c in cells):
        here = {(c.rival, c.budget): c for c in cells if c.task == task}
        lines += [f"**{task}**, greedy actions, paired by seed", ""]
        lines += head(title, *(f"ξ ≤ {b:g}" for b in budgets))
        for rival in dict.fromkeys(name for name, _ in here):
            shown = (here.get((rival, b)) for b in budgets)
            texts = ("" if c is None else interval(c.estimate, style, c.resolved) for c in shown)
            lines.append(row(rival, *texts))
        lines.append("")
    return "\n".join(lines)


def rival_table(comparisons: Sequence[RivalComparison]) -> str:
    """Return a line for every dial and budget: the dial minus its best rivals."""
    lines = head(
        *("", "", "budget", "best rival", "return", "crash rate", "safest rival", "crash rate"),
        *("rival with best discounted return", "discounted return"),
    )
    for c in comparisons:
        lines.append(
            row(
                c.ours.task,
                c.ours.name,
                f"{c.ours.budget:g}",
                c.best.name,
                signed(c.return_, ".2f"),
                signed(c.crash_rate, ".3f"),
                c.safest.name if c.safest else "",
                signed(c.safest_crash_rate, ".3f"),
                c.most_valuable.name if c.most_valuable else "",
                signed(c.discounted_return, ".1f"),
            )
        )
    return "\n".join(lines)


def core_table(comparisons: Sequence[CoreComparison]) -> str:
    """Return a line for every dial and budget: the dial minus hysteresis on its own core."""
    lines = head("", "", "budget", "return", "crash rate")
    for c in comparisons:
        changes = signed(c.return_, ".2f"), signed(c.crash_rate, ".3f")
        lines.append(row(c.ours.task, c.ours.name, f"{c.ours.budget:g}", *changes))
    return "\n".join(lines)
