"""The report's tables: which policy is best on which task, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.metrics.estimates import LEVEL
from policy_inertia.metrics.measures import Measure, select_measures
from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import REPETITIONS, Estimate, Statistic
from policy_inertia.study.analysis.summary import Improvement, Row
from policy_inertia.study.report.html import Html, count, count_range, join, tag
from policy_inertia.study.results import Results

MARKS = (
    "Green: best; its interval is apart from all others in the table. ≈: no resolved difference "
    "from the best. Judge low oscillation only together with return and crash rate: a policy that "
    "never moves has none."
)
METHOD = (
    f"Every number is over seeds, never over episodes. Intervals are percentiles of "
    f"{REPETITIONS:,} bootstrap samples that draw whole runs, task by task. With few seeds they "
    "are too narrow rather than too wide. A probability of improvement is the share of pairs of "
    "runs in which the first one is better. 50% is no difference; bold means that the interval "
    "leaves 50% out."
)
PAPER = (
    "Tables and curves show the paper's mean and half a standard deviation over seeds. That is no "
    "confidence interval, so nothing is called best."
)


def verdict(results: Results, tables: dict[str, list[Row]], statistic: Statistic) -> Html:
    """Return the report's first section: for each task the conclusions and a table."""
    parts = []
    if results.failed:
        text = f"Failed, and so missing from all figures: {count(len(results.failed), 'run')}. "
        parts.append(tag("p", text, tag("a", "Errors", href="#failed"), class_="warning"))
    for experiment in results.experiments:
        rows = tables[experiment.name]
        cards = [
            tag(
                "div",
                tag("h3", task),
                tag("ul", [tag("li", s) for s in summary.verdict(rows, task)], class_="verdict"),
                _wide(_task_table(rows, task, statistic), f"{experiment.title}, {task}"),
                class_="card",
            )
            for task in experiment.tasks
        ]
        parts.append(tag("h3", experiment.title))
        parts.append(tag("p", experiment.about, class_="note"))
        parts.append(tag("div", cards, class_="cards"))
    return join(parts, tag("p", MARKS, class_="note"))


def _task_table(rows: list[Row], task: str, statistic: Statistic) -> Html:
    """Return the unfiltered policies of one task, each with sampled and with greedy actions."""
    sampled, greedy = (summary.plain(rows, task, kind) for kind in ("sampled", "greedy"))
    measures = summary.measures_of([*sampled, *greedy], "headline")
    marks = {
        (id(row), m.name): mark
        for policies in (sampled, greedy)
        for m in measures
        for row, mark in zip(policies, summary.marks(policies, m), strict=True)
    }
    body = []
    for i, row in enumerate(sampled):
        policies = [row, *(r for r in greedy if r.label == row.label)]
        if summary.always_greedy(rows, row):
            policies = policies[1:]
        # the name has a row of its own: on a phone there is no room for it beside the numbers
        swatch = tag("span", class_="swatch", style=f"background:var(--s{i % 8})")
        name = tag("th", swatch, row.label, scope="rowgroup", colspan=1 + len(measures))
        body.append(tag("tr", name))
        for r in policies:
            cells = [_cell(r, m, marks[id(r), m.name]) for m in measures]
            body.append(tag("tr", tag("td", r.actions, class_="word"), cells, class_="same"))
    columns = ["actions", *(m.label for m in measures)]
    return _table(columns, body, _caption(sampled, statistic))


def _caption(rows: Sequence[Row], statistic: Statistic) -> str:
    counts = {len(r.seeds) for r in rows}
    if counts == {1}:
        return "one seed: no interval, so no conclusion"
    seeds = count_range(counts, "seed")
    if statistic == "paper":
        return f"mean over {seeds}, ± half a standard deviation"
    return f"interquartile mean over {seeds}, {LEVEL:.0%} interval"


def _cell(row: Row, measure: Measure, mark: str = "") -> Html:
    if measure.name in row.missing:
        return tag("td", tag("abbr", "NaN", title=row.missing[measure.name]))
    if measure.name not in row.estimates:
        return tag("td", "")
    return tag("td", _estimate(row.estimates[measure.name], measure.format, mark))


def _estimate(e: Estimate, style: str, mark: str = "") -> Html:
    value = style.format(e.value)
    shown = tag("span", value, class_=mark or None)
    if mark == "best":  # also in words, for readers who do not see the colour
        hidden = tag("span", " (best)", class_="hidden")
        title = "its interval is apart from all others"
        shown = tag("span", value, hidden, class_=mark, title=title)
    if e.low is None or e.high is None:
        return shown
    return join(shown, tag("small", f"{style.format(e.low)}–{style.format(e.high)}"))


def statistics(results: Results, tables: dict[str, list[Row]], statistic: Statistic) -> Html:
    """Return the section with the pairwise comparisons and the list of all measures."""
    parts = [tag("p", f"{METHOD} {PAPER}" if statistic == "paper" else METHOD)]
    for experiment in results.experiments:
        rows = tables[experiment.name]
        inner = [_pairs(summary.improvements(experiment, rows)), _every_measure(rows)]
        parts.append(tag("h3", experiment.title))
        parts.append(tag("div", inner, class_="card"))
    return join(parts)


def _pairs(improvements: list[Improvement]) -> Html:
    """Return a row for each pair of policies: the probability that the first one is better."""
    if not improvements:
        return tag("p", "Only one policy: nothing to compare.", class_="note")
    measures = select_measures([i.estimates for i in improvements], "headline")
    body = []
    for i in improvements:
        cells = []
        for m in measures:
            e = i.estimates.get(m.name)
            text = _estimate(e, "{:.0%}") if e else None
            cells.append(tag("td", tag("b", text) if i.resolved(m) else text))
        name = tag("th", f"{i.ours} over {i.theirs}", tag("small", i.task), scope="row")
        body.append(tag("tr", name, cells))
    columns = ["probability of improvement", *(m.label for m in measures)]
    return scrolling(columns, body, "sampled actions")


def _every_measure(rows: list[Row]) -> Html | None:
    """Return all policies with all measures: filtered ones and cores included."""
    if not rows:
        return None
    measures = summary.measures_of(rows)
    body = [
        tag(
            "tr",
            tag("th", r.name, tag("small", r.task), scope="row"),
            tag("td", "sampled" if r.actions == "core" else r.actions, class_="word"),
            [_cell(r, m) for m in measures],
        )
        for r in rows
    ]
    columns = ["", "actions", *(m.title for m in measures)]
    title = "Every policy with every measure: each threshold of the filter, and cores alone"
    return tag("details", tag("summary", title), scrolling(columns, body, title))


def scrolling(columns: list[str], body: list[Html], caption: str) -> Html:
    """Return a table that scrolls sideways if it is wider than the page."""
    return _wide(_table(columns, body, caption), caption)


def _table(columns: list[str], body: list[Html], caption: str) -> Html:
    heads = [tag("th", c, scope="col", class_="word" if c == "actions" else None) for c in columns]
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        class_="table",
    )


def _wide(table: Html, name: str) -> Html:
    """Put a table in a box that also scrolls with the keyboard."""
    return tag("div", table, class_="wide", tabindex="0", role="group", aria_label=name)
