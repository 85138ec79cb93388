"""Markdown tables: methods at the same oscillation, or at the same movement of Box actions."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.metrics.measures import CRASHES, FLUCTUATION, OSCILLATION, RETURN, Measure
from policy_inertia.study.analysis.at_budget import (
    ACTIONS,
    DISCOUNTED_RETURN,
    Actions,
    AtBudget,
    Record,
    at_budgets,
    budget_measure,
)
from policy_inertia.study.analysis.best_rivals import (
    CoreComparison,
    RivalComparison,
    core_comparisons,
    rival_comparisons,
)
from policy_inertia.study.analysis.kept_budgets import kept_budgets, limit_violations
from policy_inertia.study.analysis.paired import (
    Difference,
    PairedDifference,
    paired_differences,
    standing_differences,
)
from policy_inertia.study.report.markdown_cells import head, interval, plus_minus, row

RETURN_AND_CRASHES = {RETURN.name: ".1f", CRASHES.name: ".2f"}
DISCOUNTED = {DISCOUNTED_RETURN: ".1f"}
MEASURED = {OSCILLATION.name: ".3f"}
SYMBOLS = {OSCILLATION.name: "ξ", FLUCTUATION.name: "fluctuation"}
"""What the head of a table calls the measure of its budgets."""


def budget_page(records: Sequence[Record]) -> str:
    """Return all tables of a study's policies at their budgets, for greedy and sampled actions."""
    rows, measure = at_budgets(records), budget_measure(records)
    measured = {measure.name: measure.format.strip("{:}")}
    tables = []
    for actions in ACTIONS:
        tables += [
            budget_tables(rows, actions, measure=measure),
            budget_tables(rows, actions, measured, measure),
            budget_tables(rows, actions, DISCOUNTED, measure),
            rival_table(rival_comparisons(rows, actions)) + "\n",
            core_table(core_comparisons(rows, actions)) + "\n",
        ]
    tables.append(kept_table(records) + "\n")
    if (text := violations_text(records)) is not None:
        tables.append(text + "\n")
    return "\n".join(tables)


def kept_table(records: Sequence[Record]) -> str:
    """Return a line for each way to keep a budget: how often it is not kept on fresh episodes."""
    lines = head("greedy actions", "chosen by", "cells", "above their budget")
    for way in kept_budgets(records):
        share = f"{way.above} ({way.above / way.cells:.1%})"
        lines.append(row(way.name, way.chosen_by or "not recorded", str(way.cells), share))
    return "\n".join(lines)


def violations_text(records: Sequence[Record]) -> str | None:
    """Say how often limits were violated; None if no record has counted it."""
    counted = limit_violations(records)
    if counted is None:
        return None
    return (
        f"Violations of limits, counted on all final episodes of {counted.cells:,} cells: "
        f"{counted.count:,}."
    )


def budget_tables(
    rows: Sequence[AtBudget],
    actions: Actions,
    formats: dict[str, str] = RETURN_AND_CRASHES,
    measure: Measure = OSCILLATION,
) -> str:
    """Return a table for each task: policies down, budgets across.

    Args:
        rows: policies at their budgets.
        actions: which of the rows to show.
        formats: the figures in a cell, each with its format.
        measure: what the budgets are about.
    """
    shown = [m for m in rows if m.actions == actions]
    lines = []
    for task in dict.fromkeys(m.task for m in shown):
        lines += [f"**{task}**, {actions} actions", ""]
        here = [m for m in shown if m.task == task]
        budgets = sorted({m.budget for m in here})
        lines += head("", *(f"{SYMBOLS[measure.name]} ≤ {b:g}" for b in budgets))
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
    rows, budgeted = at_budgets(records), budget_measure(records)
    pages = []
    for measure, style in ((RETURN, ".2f"), (CRASHES, ".3f")):
        cells = paired_differences(rows, ours, measure.name)
        if cells:
            title = f"{measure.label} of '{ours}' minus"
            pages.append(paired_tables(cells, title, style, budgeted))
    return "\n".join(pages)


def paired_tables(
    cells: Sequence[PairedDifference], title: str, style: str, measure: Measure = OSCILLATION
) -> str:
    """Return a table for each task: rivals down, budgets across; what is resolved is bold."""
    lines = []
    for task in dict.fromkeys(c.task for c in cells):
        here = {(c.rival, c.budget): c for c in cells if c.task == task}
        budgets = sorted({budget for _, budget in here})
        lines += [f"**{task}**, greedy actions, paired by seed", ""]
        lines += head(title, *(f"{SYMBOLS[measure.name]} ≤ {b:g}" for b in budgets))
        for rival in dict.fromkeys(name for name, _ in here):
            shown = (here.get((rival, b)) for b in budgets)
            texts = ("" if c is None else interval(c.estimate, style, c.resolved) for c in shown)
            lines.append(row(rival, *texts))
        lines.append("")
    return "\n".join(lines)


def rival_table(comparisons: Sequence[RivalComparison]) -> str:
    """Return a line for every dial and budget: the dial minus its best rivals.

    What is bold stands after Holm's correction for all lines of its column.
    """
    lines = head(
        *("", "", "budget", "best rival", "return", "crash rate", "safest rival", "crash rate"),
        *("rival with best discounted return", "discounted return"),
    )
    columns = (
        _column([(c.ours, c.best, c.return_) for c in comparisons], ".2f"),
        _column([(c.ours, c.best, c.crash_rate) for c in comparisons], ".3f"),
        _column([(c.ours, c.safest, c.safest_crash_rate) for c in comparisons], ".3f"),
        _column([(c.ours, c.most_valuable, c.discounted_return) for c in comparisons], ".1f"),
    )
    for c, return_, crashes, safest, discounted in zip(comparisons, *columns, strict=True):
        lines.append(
            row(
                c.ours.task,
                c.ours.name,
                f"{c.ours.budget:g}",
                c.best.name,
                return_,
                crashes,
                c.safest.name if c.safest else "",
                safest,
                c.most_valuable.name if c.most_valuable else "",
                discounted,
            )
        )
    return "\n".join(lines)


def core_table(comparisons: Sequence[CoreComparison]) -> str:
    """Return a line for every dial and budget: the dial minus hysteresis on its own core.

    What is bold stands after Holm's correction for all lines of its column.
    """
    lines = head("", "", "budget", "return", "crash rate")
    columns = (
        _column([(c.ours, c.core, c.return_) for c in comparisons], ".2f"),
        _column([(c.ours, c.core, c.crash_rate) for c in comparisons], ".3f"),
    )
    for c, return_, crashes in zip(comparisons, *columns, strict=True):
        lines.append(row(c.ours.task, c.ours.name, f"{c.ours.budget:g}", return_, crashes))
    return "\n".join(lines)


def _column(differences: Sequence[Difference], style: str) -> list[str]:
    """Format the differences of a column; bold stands after Holm's correction for all of them."""
    bold = standing_differences(differences)
    pairs = zip(differences, bold, strict=True)
    return ["" if e is None else interval(e, style, stands) for (_, _, e), stands in pairs]
