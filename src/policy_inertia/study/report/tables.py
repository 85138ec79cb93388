"""The report's tables: who is best where, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.drawing.plots import many
from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import LEVEL, REPETITIONS, Estimate, Statistic
from policy_inertia.study.analysis.summary import (
    CRASHES,
    ENDS,
    OSCILLATION,
    RETURN,
    Improvement,
    Measure,
    Row,
)
from policy_inertia.study.report.html import Html, join, tag
from policy_inertia.study.results import Experiment, Results

MARKS = (
    "Green: best, its interval apart from all others in the table. ≈: cannot be told apart from "
    "the best. Low oscillation counts only beside return and crash rate: a policy that never moves "
    "has none."
)
HOW = (
    f"Intervals are percentiles of {REPETITIONS:,} bootstrap samples that draw whole runs, task by "
    "task. With few seeds they are too narrow rather than too wide. A probability of improvement "
    "is the share of pairs of runs in which the first is better; 50% is no difference, and it is "
    "bold where the interval leaves 50% out."
)
PAPERS = (
    "Tables and curves show the paper's mean and half a standard deviation over seeds, which is no "
    "interval of confidence: nothing is called best by it."
)


def verdict(results: Results, found: dict[str, list[Row]], statistic: Statistic) -> Html:
    parts = []
    if results.failed:
        text = f"Not in any figure, since it failed: {many(len(results.failed), 'run')}. "
        see = tag("a", "Which, and why", href="#failed")
        parts.append(tag("p", text, see, class_="warning"))
    for experiment in results.experiments:
        cards = [
            tag(
                "div",
                tag("h3", task),
                tag("ul", [tag("li", s) for s in summary.verdict(rows, task)], class_="said"),
                _wide(_table(rows, task, statistic), f"{experiment.title}, {task}"),
                class_="card",
            )
            for rows in [found[experiment.name]]
            for task in summary.tasks(experiment)
        ]
        parts.append(tag("h3", experiment.title))
        parts.append(tag("p", experiment.about, class_="note"))
        parts.append(tag("div", cards, class_="cards"))
    return join(parts, tag("p", MARKS, class_="note"))


def _measures(rows: Sequence[Row]) -> list[Measure]:
    told = any(CRASHES.key in r.estimates for r in rows)
    return [RETURN, OSCILLATION, CRASHES if told else ENDS]


def _table(found: list[Row], task: str, statistic: Statistic) -> Html:
    tables = {kind: summary.plain(found, task, kind) for kind in ("sampled", "greedy")}
    measures = _measures([r for rows in tables.values() for r in rows])
    marks = {
        (id(row), m.key): mark
        for rows in tables.values()
        for m in measures
        for row, mark in zip(rows, summary.marks(rows, m), strict=True)
    }
    body = []
    for i, row in enumerate(tables["sampled"]):
        both = [row, *(r for r in tables["greedy"] if r.label == row.label)]
        if summary.always_greedy(found, row):
            both = both[1:]
        for k, r in enumerate(both):
            swatch = tag("span", class_="swatch", style=f"background:var(--s{i % 8})")
            cells = [_cell(r, m, marks[id(r), m.key]) for m in measures]
            name = tag("th", swatch, r.label, scope="rowgroup", rowspan=len(both)) if not k else ""
            word = tag("td", r.actions, class_="word")
            body.append(tag("tr", name, word, cells, class_="same" if k else None))
    columns = ["", "actions", *(m.label for m in measures)]
    return tag(
        "table",
        tag("caption", _caption(tables["sampled"], statistic)),
        _head(columns),
        tag("tbody", body),
        class_="table",
    )


def _caption(rows: Sequence[Row], statistic: Statistic) -> str:
    counts = sorted({len(r.seeds) for r in rows})
    seeds = many(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    if counts == [1]:
        return "one seed: no interval, and nothing to be claimed"
    if statistic == "paper":
        return f"mean over {seeds}, ± half a standard deviation"
    return f"interquartile mean over {seeds}, {LEVEL:.0%} interval"


def _cell(row: Row, measure: Measure, mark: str) -> Html:
    if measure.key in row.missing:
        return tag("td", tag("abbr", "NaN", title=row.missing[measure.key]))
    if measure.key not in row.estimates:
        return tag("td", "")
    return tag("td", _estimate(row.estimates[measure.key], measure.style, mark))


def _estimate(e: Estimate, style: str, mark: str = "") -> Html:
    value = style.format(e.value)
    shown = tag("span", value, class_=mark or None)
    if mark == "best":  # colour alone tells nothing to those who do not see it
        why = tag("span", " (best)", class_="hidden")
        shown = tag("span", value, why, class_=mark, title="its interval is apart from all others")
    if e.low is None or e.high is None:
        return shown
    return join(shown, tag("small", f"{style.format(e.low)}–{style.format(e.high)}"))


def statistics(results: Results, found: dict[str, list[Row]], statistic: Statistic) -> Html:
    shown = f"Every number is over seeds, never over episodes. {HOW}"
    if statistic == "paper":
        shown = f"{shown} {PAPERS}"
    parts = [tag("p", shown)]
    for experiment in results.experiments:
        rows = found[experiment.name]
        inner = [_pairs(summary.improvements(experiment, rows)), _others(rows, experiment)]
        parts.append(tag("h3", experiment.title))
        parts.append(tag("div", inner, class_="card"))
    return join(parts)


def _pairs(listed: list[Improvement]) -> Html:
    if not listed:
        return tag("p", "Only one policy: nothing to compare.", class_="note")
    keys = [m for m in (RETURN, OSCILLATION, CRASHES) if any(m.key in i.estimates for i in listed)]
    body = []
    for i in listed:
        cells = []
        for m in keys:
            e = i.estimates.get(m.key)
            apart = e is not None and e.low is not None and not e.low <= 0.5 <= (e.high or 0)
            text = _estimate(e, "{:.0%}") if e else None
            cells.append(tag("td", tag("b", text) if apart else text))
        name = tag("th", f"{i.ours} over {i.theirs}", tag("small", i.task), scope="row")
        body.append(tag("tr", name, cells))
    columns = ["probability of improvement", *(m.label for m in keys)]
    return scrolling(columns, body, "sampled actions")


def _others(rows: list[Row], experiment: Experiment) -> Html | None:
    """What is not in the verdict's tables: every threshold of the filters, and the cores."""
    listed = [r for r in rows if r.hysteresis is not None or r.actions == "core"]
    if not listed:
        return None
    measures = _measures(listed)
    body = [
        tag(
            "tr",
            tag("th", r.name, tag("small", r.task), scope="row"),
            tag("td", r.actions.replace("core", "sampled"), class_="word"),
            [_cell(r, m, "") for m in measures],
        )
        for r in listed
    ]
    columns = ["", "actions", *(m.label for m in measures)]
    title = "Every threshold of the hysteresis filter, and cores without their controller"
    return tag("details", tag("summary", title), scrolling(columns, body, experiment.title))


def scrolling(columns: list[str], body: list[Html], caption: str) -> Html:
    table = tag(
        "table",
        tag("caption", caption),
        _head(columns),
        tag("tbody", body),
        class_="table",
    )
    return _wide(table, caption)


def _head(columns: list[str]) -> Html:
    words = [tag("th", c, scope="col", class_="word" if c == "actions" else None) for c in columns]
    return tag("thead", tag("tr", words))


def _wide(table: Html, name: str) -> Html:
    """A table that scrolls by itself where it is too wide, with the keyboard, too."""
    return tag("div", table, class_="wide", tabindex="0", role="group", aria_label=name)
