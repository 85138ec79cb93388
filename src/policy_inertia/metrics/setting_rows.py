"""What all tables with one row per setting share: which row keeps a budget, and their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from policy_inertia.metrics.measures import Figures, select_measures


class SettingRow(Protocol):
    """One setting, and the figures of its episodes."""

    @property
    def setting(self) -> float: ...

    @property
    def figures(self) -> Figures: ...


R = TypeVar("R", bound=SettingRow)


def loosest_within(rows: Sequence[R], bound: Callable[[R], float], budget: float) -> R | None:
    """The first row from which on all rows keep the budget; None if the last one does not.

    Args:
        rows: From the loosest to the smoothest.
        bound: The smallest budget that a row keeps.
        budget: The budget.
    """
    loosest = None
    for row in reversed(rows):
        if not bound(row) <= budget:
            break
        loosest = row
    return loosest


def table_text(setting_name: str, rows: Sequence[SettingRow]) -> str:
    """The rows as lines of text, with the headline measures as columns."""
    measures = select_measures([row.figures for row in rows], "headline")
    widths = [max(len(measure.label), 8) for measure in measures]
    head = [f"{m.label:>{width}}" for m, width in zip(measures, widths, strict=True)]
    lines = ["  ".join([f"{setting_name:>10}", *head])]
    for row in rows:
        cells = [
            f"{measure.show(row.figures.get(measure.name)):>{width}}"
            for measure, width in zip(measures, widths, strict=True)
        ]
        lines.append("  ".join([f"{row.setting:10.4g}", *cells]))
    return "\n".join(lines)
