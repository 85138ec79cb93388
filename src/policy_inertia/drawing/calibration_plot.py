"""Draw calibrations: what each degree of smoothness costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from policy_inertia.drawing.palette import INK, colour
from policy_inertia.drawing.plots import Line, Panel, save
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.filter_curve import FilterCurve, FilterRow
from policy_inertia.metrics.measures import OSCILLATION, Figures, Measure, select_measures

Tables = Mapping[str, Calibration | FilterCurve]
Height = Callable[[Row | FilterRow], float | None]


def draw_calibrations(
    tables: Tables,
    title: str,
    path: Path,
    edges: Mapping[str, Sequence[Figures]] | None = None,
    against: Measure = OSCILLATION,
) -> None:
    """Draw the headline measures, and the setting itself, against the oscillation ratio.

    Args:
        tables: Calibrations of the same task by label; each is one line.
        title: Title of the picture.
        path: The file; its ending says which kind.
        edges: Figures of what is possible at all, by label; each is a dashed line.
        against: The measure of the horizontal axis.
    """
    figures = [row.figures for table in tables.values() for row in table.rows]
    measures = [m for m in select_measures(figures, "headline") if m is not against]
    panels = [
        _panel(m.label, _value(m), tables, against, _edge_lines(m, against, edges or {}))
        for m in measures
    ]
    names = sorted({table.setting_name for table in tables.values()})
    label = f"{', '.join(names)} (log10{', above 0 only' * _any_left_out(tables)})"
    panels.append(_panel(label, _log_setting, tables, against))
    save(panels, f"{title}: each dot is one setting, greedy actions", path, legend=True)


def _value(measure: Measure) -> Height:
    return lambda row: row.figures.get(measure.name)


def _log_setting(row: Row | FilterRow) -> float | None:
    return math.log10(row.setting) if row.setting > 0 else None


def _any_left_out(tables: Tables) -> bool:
    """Whether a setting has no logarithm."""
    return any(_log_setting(row) is None for table in tables.values() for row in table.rows)


def _edge_lines(
    measure: Measure, against: Measure, edges: Mapping[str, Sequence[Figures]]
) -> list[Line]:
    lines = []
    for label, rows in edges.items():
        known = [(r[against.name], r[measure.name]) for r in rows if measure.name in r]
        if known:
            x, y = zip(*known, strict=True)
            lines.append(Line(label, INK, x, y, dashed=True))
    return lines


def _panel(
    label: str, height: Height, tables: Tables, against: Measure, edges: Sequence[Line] = ()
) -> Panel:
    """One line per calibration; rows without a height are left out."""
    lines = list(edges)
    for i, (name, table) in enumerate(tables.items()):
        places = [(row.figures.get(against.name), height(row)) for row in table.rows]
        known = [(x, y) for x, y in places if x is not None and y is not None]
        if known:  # a dial that never saw a reward has the price 0 alone
            x, y = zip(*known, strict=True)
            lines.append(Line(name, colour(i), x, y, dots=True))
    return Panel(against.label, label, lines, label_ends=False)
