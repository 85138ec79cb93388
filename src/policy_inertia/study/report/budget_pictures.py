"""The picture of policies at their budgets: return against measured oscillation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policy_inertia.drawing.palette import COLOURS, colour
from policy_inertia.drawing.plots import Line, Panel
from policy_inertia.errors import InputError, nearest
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.planner.known_edges import named_edge
from policy_inertia.study.analysis.at_budget import CORE, IN_BUCKET, AtBudget

TITLE = "Greedy actions, budgets that every seed keeps, mean and 95% t-interval"
WIDTH = 3.6  # inches of a panel
BLACK = COLOURS[6]  # for what is no method: the planner
Envs = Mapping[str, tuple[str, dict[str, Any]]]
"""The env and its arguments in evaluation, by the name of the task."""


def budget_panels(rows: Sequence[AtBudget], envs: Envs, names: Sequence[str] = ()) -> list[Panel]:
    """Return a panel for each task: a line for each policy, and the planner's upper edge.

    A line has the budgets that every seed keeps, with 95% t-intervals of the return.

    Args:
        rows: Policies at their budgets.
        envs: Where the tasks come from; a task that is not in it has no edge.
        names: The policies to show. By default all that neither are a core nor have a bucket whose
            setting was not tuned.

    Raises:
        InputError: No policy has such a name.
    """
    greedy = [m for m in rows if m.actions == "greedy"]
    known = list(dict.fromkeys(m.name for m in greedy))
    for name in names:
        if name not in known:
            raise InputError(f"these records have no policy '{name}'{nearest(name, known)}")
    shown = names or [n for n in known if not n.startswith(CORE) and not n.endswith(IN_BUCKET)]
    panels = []
    for task in dict.fromkeys(m.task for m in greedy):
        here = [m for m in greedy if m.task == task]
        lines = [
            line
            for i, name in enumerate(shown)
            if (line := _line(name, colour(i), [m for m in here if m.name == name]))
        ]
        env, kwargs = envs.get(task, ("", {}))
        edge = [
            Line(
                label,
                BLACK,
                [r[OSCILLATION.name] for r in figures],
                [r[RETURN.name] for r in figures],
                dashed=True,
                dots=True,  # where every plan has the same oscillation, it is a single dot
            )
            for label, figures in named_edge(env, kwargs).items()
        ]
        panels.append(
            Panel(f"{task}: oscillation ratio", RETURN.label, lines + edge, label_ends=False)
        )
    return panels


def _line(name: str, shade: str, rows: Sequence[AtBudget]) -> Line | None:
    """Return a policy's line over the budgets that every seed keeps; None without any."""
    points = [
        (x.value, y)
        for m in sorted(rows, key=lambda m: m.budget)
        if m.records
        and len(m.records) == m.seeds
        and (x := m.estimate(OSCILLATION.name)) is not None
        and (y := m.estimate(RETURN.name)) is not None
    ]
    if not points:
        return None
    known = all(y.low is not None for _, y in points)
    return Line(
        name,
        shade,
        [x for x, _ in points],
        [y.value for _, y in points],
        [y.low for _, y in points] if known else None,
        [y.high for _, y in points] if known else None,
        dots=True,
        bars=True,
    )
