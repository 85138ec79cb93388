"""What the command line prints: sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from policy_inertia.metrics.calibration_table import Calibration
    from policy_inertia.study.analysis.statistics import Estimate
    from policy_inertia.study.analysis.summary import Row
    from policy_inertia.study.results import ExperimentResults

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
    table = Table("", *(m.label for m in measures))
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


MOST_THRESHOLDS = 3  # of hysteresis that a table on the screen shows


def study_tables(experiment: ExperimentResults, rows: Sequence[Row]) -> Iterator[Table]:
    """For each task of an experiment, every policy's figures over seeds, sampled and greedy."""
    from policy_inertia.study.analysis.summary import always_greedy, measures_of

    for task in experiment.tasks:
        here = [r for r in rows if r.task == task]
        if len({r.hysteresis for r in here}) > 1 + MOST_THRESHOLDS:  # the report shows all
            here = [r for r in here if r.hysteresis is None]
        measures = measures_of(here, "headline")
        counts = {len(r.seeds) for r in here}
        most = f"{max(counts)} seed{'s' * (max(counts) != 1)}"
        caption = (
            f"interquartile mean and 95% bootstrap interval over {most}"
            if max(counts) > 1
            else "one seed: no interval"
        )
        title = experiment.title if experiment.title == task else f"{experiment.title}: {task}"
        left: Any = {"title_justify": "left", "caption_justify": "left"}
        table = Table(title=title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), **left)
        table.add_column("")
        for m in measures:
            table.add_column(m.label.removesuffix(" ratio"), justify="right", no_wrap=True)
        for kinds, head in ((("sampled", "core"), "sampled"), (("greedy",), "greedy")):
            own = [r for r in here if r.actions in kinds]
            own = [r for r in own if r.actions != "sampled" or not always_greedy(rows, r)]
            if own:
                table.add_row(f"[italic]{head} actions")
            for r in own:
                cells = [(r.estimates.get(m.name), m.format) for m in measures]
                table.add_row(escape(r.name), *(_cell(e, style) for e, style in cells))
            table.add_section()
        yield table


def _cell(e: Estimate | None, style: str) -> str:
    if e is None:
        return ""
    if e.low is None or e.high is None:
        return style.format(e.value)
    return f"{style.format(e.value)} \\[{style.format(e.low)}, {style.format(e.high)}]"
