"""Markdown tables and the picture of the study of filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policy_inertia.drawing.palette import colour
from policy_inertia.drawing.plots import Line, Panel
from policy_inertia.metrics.measures import FLUCTUATION, MEASURES, RETURN
from policy_inertia.study.analysis.core_gain import better_than_random
from policy_inertia.study.analysis.filter_costs import (
    BestFilter,
    FilterAtBudget,
    best_filters,
    filter_costs,
)
from policy_inertia.study.analysis.statistics import mean_and_t_interval
from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.report.markdown_cells import head, interval, plus_minus, row

CORE_FIGURES = (RETURN, FLUCTUATION, MEASURES["jerk"], MEASURES["length"])
LOWEST = -0.25
"""The lowest return in the picture, as a share of what the core gains over random actions."""

Cells = Mapping[str, Sequence[CoreRecord]]
"""Records by the title of their cell."""
Text = Callable[[FilterAtBudget], str]


def filter_page(cells: Cells) -> str:
    """Return all tables of the study: the cores, the best filters, and every filter."""
    costs = {title: filter_costs(records) for title, records in cells.items()}
    parts = [core_table(cells), best_table(best_filters(costs))]
    for title, rows in costs.items():
        if rows:
            parts.append(loss_table(title, rows))
            parts.append(movement_table(title, rows))
    return "\n\n".join(parts)


def core_table(cells: Cells) -> str:
    """Return a line for each task: the figures of its cores, and the return of random actions."""
    names = [measure.label for measure in CORE_FIGURES]
    lines = head("core", "seeds", *names, "return of random actions", "no better than random")
    for title, records in cells.items():
        figures = [
            plus_minus(
                mean_and_t_interval([r.figures["core"][m.name] for r in records]),
                m.format.strip("{:}"),
            )
            for m in CORE_FIGURES
        ]
        random = mean_and_t_interval([r.figures["random"][RETURN.name] for r in records])
        useless = len(records) - len(better_than_random(records))
        lines.append(
            row(title, str(len(records)), *figures, plus_minus(random, ".2f"), str(useless))
        )
    return "\n".join(lines)


def best_table(rows: Sequence[BestFilter]) -> str:
    """Return a line for each task and budget: the best filter, and by how much."""
    lines = head("", "budget", "best filter", "loss", "next filter", "loses more by")
    for best in rows:
        second = "" if best.second is None else best.second.filter
        more = best.difference
        difference = "" if more is None else interval(more, ".1%", best.resolved)
        loss = plus_minus(best.best.loss, ".1%")
        budget = f"{best.best.budget:g}"
        lines.append(row(best.cell, budget, best.best.filter, loss, second, difference))
    return "\n".join(lines)


def loss_table(title: str, rows: Sequence[FilterAtBudget]) -> str:
    """Return filters down and budgets across: the loss as a share of (core - random)."""
    return _table(f"**{title}**, loss of return", rows, lambda r: plus_minus(r.loss, ".1%"))


def movement_table(title: str, rows: Sequence[FilterAtBudget]) -> str:
    """Return filters down and budgets across: fluctuation and jerk as shares of the core's."""

    def cell(r: FilterAtBudget) -> str:
        return f"{r.share(FLUCTUATION.name).value:.2f} / {r.share('jerk').value:.2f}"

    return _table(f"**{title}**, action fluctuation / jerk, as shares of the core's", rows, cell)


def _table(title: str, rows: Sequence[FilterAtBudget], text: Text) -> str:
    budgets = list(dict.fromkeys(r.budget for r in rows))
    lines = [title, "", *head("budget, as a share of the core's", *(f"{b:g}" for b in budgets))]
    for name in dict.fromkeys(r.filter for r in rows):
        own = {r.budget: r for r in rows if r.filter == name}
        lines.append(row(name, *(_cell(own[b], text) for b in budgets)))
    return "\n".join(lines)


def _cell(r: FilterAtBudget, text: Text) -> str:
    if not r.losses:
        return "–"
    return text(r) + ("" if r.whole else f" ({len(r.losses)} of {r.seeds})")


def filter_panels(cells: Cells) -> list[Panel]:
    """Return a panel for each task: what is left of the return over the movement that is left.

    Both are shares of the core's, which is the point (1, 1); random actions return 0. A filter's
    line shows the budgets that every seed reaches.
    """
    costs = {title: filter_costs(records) for title, records in cells.items()}
    names = list(dict.fromkeys(r.filter for rows in costs.values() for r in rows))
    panels = []
    for title, rows in costs.items():
        curves = {name: [r for r in rows if r.filter == name and r.whole] for name in names}
        lines = [
            _line(name, colour(i), curves[name]) for i, name in enumerate(names) if curves[name]
        ]
        if lines:
            panels.append(
                Panel(
                    f"{title}: share of the movement",
                    "share of the gain",
                    lines,
                    label_ends=False,
                    y_limits=(LOWEST, 1.1),
                )
            )
    return panels


def _line(name: str, shade: str, rows: Sequence[FilterAtBudget]) -> Line:
    losses = [r.loss for r in rows]
    known = all(e.low is not None for e in losses)
    return Line(
        name,
        shade,
        [1.0, *(r.share(FLUCTUATION.name).value for r in rows)],
        [1.0, *(1 - e.value for e in losses)],
        [1.0, *(1 - (e.high or 0.0) for e in losses)] if known else None,
        [1.0, *(1 - (e.low or 0.0) for e in losses)] if known else None,
        dots=True,
        bars=True,
    )
