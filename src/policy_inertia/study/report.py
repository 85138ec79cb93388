"""The report: a study as one HTML file that needs nothing else, with its numbers beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..checkpoint import cannot_write, write_file, write_json
from ..plots import COLOURS, INK, many, render, text_colour
from ..types import InputError
from . import figures, inspector, summary
from .inspector import Scene, scenes
from .markup import Html, join, tag
from .results import Experiment, Results
from .statistics import LEVEL, REPETITIONS, Estimate, Statistic
from .summary import CRASHES, ENDS, OSCILLATION, RETURN, Improvement, Measure, Row

LARGEST, MARGIN = 10_000_000, 100_000  # bytes of the file, and what is left free
MARKS = (
    "Green: best, its interval apart from all others in the table. ≈: cannot be told apart from "
    "the best. Low oscillation counts only beside return and crash rate: a policy that never moves "
    "has none."
)


def write(
    results: Results,
    path: Path,
    inspect: Sequence[Scene] | bool = True,
    statistic: Statistic = "iqm",
) -> Path:
    """Write the report to `path`, and beside it summary.json, summary.csv and figures/.

    `inspect` is what the inspector shows; True chooses and records for each task a policy with and
    one without a controller, False leaves it out.
    """
    if not any(s.seeds for e in results.experiments for s in e.series):
        raise InputError(f"{results.folder} has no finished run: there is nothing to report yet")
    notes: list[str] = []
    if inspect is True:
        shown, notes = scenes.choose(results)
    else:
        shown = list(inspect or ())
    found = summary.tabulate(results, statistic)
    drawn = _figures(results, found, statistic)
    sections: dict[str, tuple[str, Any]] = {
        "verdict": ("Verdict", _verdict(results, found, statistic)),
        "curves": ("Curves", drawn["curves"]),
        "pareto": ("Return against oscillation", drawn["pareto"]),
        "statistics": ("Statistics", _statistics(results, found, statistic)),
        "inspector": ("Inspector", None),
        "settings": ("Settings", _settings(results)),
        "again": ("Make it again", _again(results)),
    }
    left = LARGEST - len(_page(results, sections).encode()) - MARGIN
    sections["inspector"] = ("Inspector", _inspector(shown, notes, min(left, inspector.BUDGET)))
    page = _page(results, sections).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figures.write(results, path.parent / "figures", found, statistic)
    except OSError as error:
        raise cannot_write(path, error) from error
    write_json(path.with_name("summary.json"), summary.to_json(results, found, statistic))
    write_file(path.with_name("summary.csv"), summary.to_csv(found).encode())
    write_file(path, page)
    return path


def _page(results: Results, sections: dict[str, tuple[str, Any]]) -> str:
    script = inspector.asset("inspector.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    style = files(__package__).joinpath("report.css").read_text() + inspector.asset("inspector.css")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", results.title),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the verdict", href="#verdict", class_="skip"),
        tag("header", tag("h1", results.title), tag("p", results.about, class_="lead"), _facts(results)),
        tag(
            "nav",
            tag("ul", [tag("li", tag("a", t, href=f"#{i}")) for i, (t, c) in sections.items() if c]),
            aria_label="Sections",
        ),
        tag(
            "main",
            [tag("section", tag("h2", t), c, id=i) for i, (t, c) in sections.items() if c],
        ),
        tag("footer", "Made by policy-inertia. The same numbers are in summary.json and summary.csv."),
        tag("script", Html(script)),
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _facts(results: Results) -> Html:
    series = [s for e in results.experiments for s in e.series if s.seeds]
    runs = {str(f) for s in series for f in s.folders}
    counted = [
        many(len(results.experiments), "experiment"),
        many(len({s.task for s in series}), "task"),
        many(len({(s.label, s.task) for s in series}), "policy").replace("policys", "policies"),
        many(len(runs), "finished run"),
    ]
    counted += [f"{len(results.failed)} failed"] if results.failed else []
    return tag("ul", [tag("li", c) for c in counted], class_="facts")


# Verdict


def _verdict(results: Results, found: dict[str, list[Row]], statistic: Statistic) -> Html:
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
                tag("div", _table(rows, task, statistic), class_="wide", tabindex="0", role="group",
                    aria_label=f"{experiment.title}, {task}"),
                class_="card",
            )
            for rows in [found[experiment.name]]
            for task in summary.tasks(experiment)
        ]  # fmt: skip
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
        tag("thead", tag("tr", [tag("th", c, scope="col") for c in columns])),
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
    if mark == "best":
        shown = tag("span", value, class_=mark, title="best: its interval is apart from all others")
    if e.low is None or e.high is None:
        return shown
    return join(shown, tag("small", f"{style.format(e.low)}–{style.format(e.high)}"))


# Figures


def _figures(
    results: Results, found: dict[str, list[Row]], statistic: Statistic
) -> dict[str, list[Html]]:
    """The figures by kind, under their experiments' titles."""
    titles = {e.name: e.title for e in results.experiments}
    parts: dict[str, list[Html]] = {"curves": [], "pareto": []}
    headed: set[tuple[str, str]] = set()
    for figure in figures.figures(results, found, statistic):
        place = parts[figure.kind]
        if (figure.kind, figure.experiment) not in headed:
            headed.add((figure.kind, figure.experiment))
            place.append(tag("h3", titles[figure.experiment]))
        panels = [
            _inline(render([p], salt=f"{figure.name}-{k}")[0], f"{figure.alt}: {p.y_label}")
            for k, p in enumerate(figure.panels)
        ]
        caption = tag("figcaption", tag("b", figure.task), f": {figure.caption}")
        place.append(tag("figure", tag("div", panels, class_="panels"), caption, id=figure.name))
    return parts


def _inline(svg: bytes, alt: str) -> Html:
    """A picture as part of the page: named, as wide as its place, in the page's own colours."""
    text = svg.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    start, end = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', start)
    assert box, "Matplotlib writes a viewBox"
    used = set(re.findall(r"#([\w-]+)[)\"]", end))  # other names would be there twice in a page
    end = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", end)
    for i, line in enumerate(COLOURS):
        if text_colour(line) != line.lower():
            end = end.replace(text_colour(line), f"var(--t{i})")
        end = end.replace(line.lower(), f"var(--s{i})")
    end = end.replace(INK.lower(), "currentColor")
    name = tag("title", alt)
    return Html(f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img">{name}{end}')


# Statistics


def _statistics(results: Results, found: dict[str, list[Row]], statistic: Statistic) -> Html:
    how = (
        f"Every number is over seeds, never over episodes. Intervals are percentiles of "
        f"{REPETITIONS:,} bootstrap samples that draw whole runs, task by task. With few seeds they "
        "are too narrow rather than too wide. A probability of improvement is the share of pairs of "
        "runs in which the first is better; 50% is no difference, and it is bold where the "
        "interval leaves 50% out."
    )
    if statistic == "paper":
        how = "Tables and curves show the paper's mean and half a standard deviation over seeds, " \
              "which is no interval of confidence. " + how  # fmt: skip
    parts = [tag("p", how)]
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
    return _scrolling(columns, body, "sampled actions")


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
    return tag("details", tag("summary", title), _scrolling(columns, body, experiment.title))


def _scrolling(columns: list[str], body: list[Html], caption: str) -> Html:
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", [tag("th", c, scope="col") for c in columns])),
        tag("tbody", body),
        class_="table",
    )
    return tag("div", table, class_="wide", tabindex="0", role="group", aria_label=caption)


# Inspector, settings, and how to make it again


def _inspector(shown: Sequence[Scene], notes: list[str], budget: int) -> Html | None:
    if not shown and not notes:
        return None
    about = (
        "Recorded episodes, step by step. The red arrow is the controller, solid where it holds "
        "the last action (mu of 0.5 or more) and dashed where it lets go; the yellow arrow is what "
        "the core wants most, solid from a probability of 0.5 on."
    )
    return join(
        tag("p", about),
        [tag("p", n, class_="note") for n in notes],
        inspector.element(shown, budget) if shown else None,
    )


def _settings(results: Results) -> Html:
    parts = []
    for experiment in results.experiments:
        known = {f"{s.label}, {s.task}": _flat(s.config) for s in experiment.series}
        names = list(dict.fromkeys(name for c in known.values() for name in c))
        same = {n: v for n in names for v in [{str(c.get(n, "")) for c in known.values()}] if len(v) == 1}  # fmt: skip
        body = [
            tag("tr", tag("th", n, scope="row"), [tag("td", c.get(n, "")) for c in known.values()])
            for n in names
            if n not in same
        ]
        alike = [
            tag("tr", tag("th", n, scope="row"), tag("td", *v)) for n, v in sorted(same.items())
        ]
        title = f"{experiment.title}: {many(len(known), 'series')}".replace("seriess", "series")
        inner = [_scrolling(["differs", *known], body, experiment.title)] if body else []
        inner.append(_scrolling(["the same in all", "value"], alike, experiment.title))
        parts.append(tag("details", tag("summary", title), inner))
    if results.failed:
        items = [tag("li", tag("code", run), f": {error}") for run, error in results.failed]
        parts.append(join(tag("h3", "Failed runs", id="failed"), tag("ul", items)))
    return join(parts)


def _flat(config: dict[str, Any], at: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        inner = isinstance(value, dict) and value
        flat |= _flat(value, f"{at}{name}.") if inner else {f"{at}{name}": value}
    return flat


def _again(results: Results) -> Html:
    versions = [tag("li", f"{n} {v}") for n, v in results.versions.items()]
    return join(
        tag("pre", tag("code", f"{results.command}\npolicy-inertia report {results.folder}")),
        tag("ul", versions, class_="facts"),
    )
