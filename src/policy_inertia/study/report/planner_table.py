"""The Markdown tables of what a planner that knows the future reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policy_inertia.metrics.measures import CRASHES, OSCILLATION, RETURN
from policy_inertia.planner.upper_edge import UpperEdge

SHOWN = (RETURN, OSCILLATION, CRASHES)


def planner_table(edges: Mapping[str, UpperEdge], budgets: Sequence[float]) -> str:
    """Return a table with a column for each task and a row for each budget of oscillation.

    A cell has the return, the measured oscillation ratio and the crash rate.

    Args:
        edges: the planner's episodes, by the title of the column.
        budgets: oscillation ratios; the last row has no limit.
    """
    rows = [["budget", *edges], ["---"] * (1 + len(edges))]
    for budget in (*budgets, None):
        cells = (e.within(budget).summary() for e in edges.values())
        label = "no limit" if budget is None else f"{budget:g}"
        rows.append([label, *(", ".join(m.show(c[m.name]) for m in SHOWN) for c in cells)])
    return _markdown(rows)


def planner_limits_table(edges: Sequence[UpperEdge]) -> str:
    """Return a table with a row for each limit: return, oscillation ratio, crash rate, settled.

    Args:
        edges: the planner's episodes within each limit; None as a limit is no limit.
    """
    rows = [["limit", *(m.label for m in SHOWN), "beams that settled"], ["---"] * (2 + len(SHOWN))]
    for edge in edges:
        figures = edge.within().summary()
        cells = [m.show(figures[m.name]) for m in SHOWN]
        settled = f"{sum(p.settled for p in edge.plans)} of {len(edge.plans)}"
        rows.append([str(edge.limit or "no limit"), *cells, settled])
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
