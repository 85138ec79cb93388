"""What the command line prints: sentences and tables.

Paths, names and titles come from users and from files, so nothing that is printed is markup: every
text is shown as it is. Styles are arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from policy_inertia.errors import visible

if TYPE_CHECKING:
    from policy_inertia.metrics.calibration_table import Calibration
    from policy_inertia.metrics.filter_curve import FilterCurve


class PlainConsole(Console):
    """A console on which every text is shown as it is, in tables too."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Convert a text, a cell or a title for printing."""
        return super().render_str(visible(text), **settings | {"markup": False, "emoji": False})

    def on_broken_pipe(self) -> None:
        """Print nothing more, and leave the rest to `main`."""
        self.quiet = True
        raise BrokenPipeError


MOST_SETTINGS = 6
"""Rows of a table of the best settings, besides the loosest."""

out = PlainConsole()
err = PlainConsole(stderr=True)


def say(text: str, style: str = "") -> None:
    """Print lines of text; the terminal wraps them."""
    out.print(text, style=style, soft_wrap=True)


def complain(text: str, style: str = "") -> None:
    """Print one sentence on stderr, on one line."""
    err.print(f"policy-inertia: {text}".replace("\n", "\\n"), style=style, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning; the command continues."""
    complain(text, "yellow")


@contextlib.contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something is being done; yields a function that changes the text."""
    with out.status(Text(visible(text))) as status:
        yield lambda other: status.update(Text(visible(other)))


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


def show_calibration(title: str, table: Calibration | FilterCurve) -> None:
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


def show_best_settings(table: Calibration) -> None:
    """Print the settings that no other setting beats in both return and oscillation."""
    from policy_inertia.metrics.best_rows import best_rows

    shown = replace(table, rows=tuple(best_rows(table, MOST_SETTINGS)))
    title = f"Best of {len(table.rows)} calibrated settings, {table.episodes} greedy episodes each"
    show_calibration(f"{title}; other episodes may give less", shown)


def show_titled(title: str, table: Table) -> None:
    """Print a table under its title, which may be wider than the table."""
    say(title, "italic")
    out.print(table)
