"""What the command line prints: sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from policy_inertia.metrics.calibration_table import Calibration

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def complain(text: str, style: str = "") -> None:
    """Print one sentence on stderr."""
    err.print(f"policy-inertia: {escape(text)}", style=style, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning; the command continues."""
    complain(text, "yellow")


def show_figures(title: str, rows: Mapping[str, dict[str, Any]]) -> None:
    """Print a table with a row for each label, and a column for each measure with a value."""
    from policy_inertia.metrics.measures import select_measures

    measures = select_measures(rows.values(), "wide")
    # one word on each line, so that the table fits in 80 columns
    headers = [m.label.replace(" ", "\n") for m in measures]
    table = Table("", *headers, box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for label, figures in rows.items():
        table.add_row(label, *(m.show(figures.get(m.name)) for m in measures))
    show_titled(title, table)


def show_calibration(title: str, table: Calibration) -> None:
    """Print a table with a row for each setting of a dial, and the headline measures."""
    from policy_inertia.metrics.measures import select_measures

    measures = select_measures((row.figures for row in table.rows), "headline")
    shown = Table()
    for name in (table.setting_name, *(m.label for m in measures)):
        shown.add_column(name, justify="right")
    for row in table.rows:
        cells = [m.show(row.figures.get(m.name)) for m in measures]
        shown.add_row(f"{row.setting:.3g}", *cells)
    show_titled(title, shown)


def show_titled(title: str, table: Table) -> None:
    """Print a table under its title, which may be wider than the table."""
    out.print(title, style="italic", soft_wrap=True, markup=False)
    out.print(table)
