"""What `policy-inertia theory` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.table import Table

from policy_inertia.tabular.checks import Finding
from policy_inertia.tabular.portrait import Cost, Portrait


def findings_table(title: str, findings: Sequence[Finding]) -> Table:
    """What came of the theory's checks, those without a promise in italics."""
    caption = (
        "margin: the least where it holds; fails: in so many, by so much at most; silent: where "
        "its condition is not met; italics: nobody promises it"
    )
    table = Table(title=title, caption=caption, box=None, padding=(0, 2, 0, 0))
    table.title_justify = table.caption_justify = "left"
    columns: list[tuple[str, Callable[[Finding], str]]] = [
        ("margin", lambda f: "" if f.smallest != f.smallest else _small(f.smallest)),
        ("fails", lambda f: str(f.failed or "")),
        ("by", lambda f: _small(f.violation) if f.failed else ""),
    ]
    if any(f.said_nothing for f in findings):
        columns.insert(0, ("silent", lambda f: str(f.said_nothing or "")))
    table.add_column("statement", no_wrap=True)
    table.add_column("episodes", no_wrap=True)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for f in findings:
        cells = [cell(f) for _, cell in columns]
        style = "" if f.check.promised else "italic"
        table.add_row(f.check.about, f.check.kind, *cells, style=style)
    return table


def portraits_table(portraits: Sequence[Portrait]) -> Table:
    """Switch rate and return of each policy around one core, and the least rates of the curve."""
    columns = ("core", "Theorem 3.1's rule", "nested", "least rate: nested's return", "core's")
    table = Table("switch rate, return", box=None, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="right")
    for p in portraits:
        points = (f"{rate:.3f}, {reached:.3f}" for rate, reached in (p.core, p.rule, p.nested))
        top = p.curve.vertices[-1].return_
        rates = (p.curve.least_rate(min(point[1], top)) for point in (p.nested, p.core))
        table.add_row(p.mdp.name, *points, *(f"{rate:.3f}" for rate in rates))
    return table


def _small(figure: float) -> str:
    """One digit; what is only rounding is 0."""
    return f"{figure:.0e}" if abs(figure) > 1e-9 else "0"


def growth_table(costs: Iterable[Cost]) -> Table:
    """Seconds against the size of an MDP."""
    names = ("states", "actions", "evaluation, s", "nested iteration, s", "curve, a point, s")
    table = Table(*names, title="Processor time as an MDP grows", title_justify="left")
    for c in costs:
        times = (f"{t:.2f}" for t in (c.evaluation, c.iteration, c.program))
        table.add_row(str(c.states), str(c.actions), *times)
    return table
