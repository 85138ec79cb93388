"""The report: a study as one HTML file that needs nothing else, with its numbers beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from policy_inertia.drawing.plots import many
from policy_inertia.errors import InputError
from policy_inertia.storage import cannot_write, write_file, write_json
from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import Statistic
from policy_inertia.study.report import figures, inspector, tables
from policy_inertia.study.report.html import Html, join, tag
from policy_inertia.study.report.inline_figures import pictures
from policy_inertia.study.report.inspector import Scene, scenes
from policy_inertia.study.results import Results

LARGEST, MARGIN = 10_000_000, 100_000  # bytes of the file, and what is left free


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
    drawn = pictures(results, found, statistic)
    sections: dict[str, tuple[str, Any]] = {
        "verdict": ("Verdict", tables.verdict(results, found, statistic)),
        "curves": ("Curves", drawn["curves"]),
        "pareto": ("Return against oscillation", drawn["pareto"]),
        "statistics": ("Statistics", tables.statistics(results, found, statistic)),
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
    rules = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    rules += f"; script-src 'sha256-{digest}'"  # nothing else can run, whatever a study's texts say
    style = files(__package__).joinpath("report.css").read_text() + inspector.asset("inspector.css")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=rules),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", results.title),
        tag("style", Html(style)),
    )
    shown = {name: section for name, section in sections.items() if section[1]}
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, (title, _) in shown.items()]
    body = tag(
        "body",
        tag("a", "Skip to the verdict", href="#verdict", class_="skip"),
        tag(
            "header",
            tag("h1", results.title),
            tag("p", results.about, class_="lead"),
            _facts(results),
        ),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", [tag("section", tag("h2", t), c, id=n) for n, (t, c) in shown.items()]),
        tag(
            "footer", "Made by policy-inertia; summary.json and summary.csv have the same numbers."
        ),
        tag("script", Html(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _facts(results: Results) -> Html:
    series = [s for e in results.experiments for s in e.series if s.seeds]
    runs = {str(f) for s in series for f in s.folders}
    counted = [
        many(len(results.experiments), "experiment"),
        many(len({s.task for s in series}), "task"),
        f"{len({(s.label, s.task) for s in series})} methods and settings",
        many(len(runs), "finished run"),
    ]
    counted += [f"{len(results.failed)} failed"] if results.failed else []
    return tag("ul", [tag("li", c) for c in counted], class_="facts")


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
        names = dict.fromkeys(name for config in known.values() for name in config)
        values = {name: [config.get(name, "") for config in known.values()] for name in names}
        apart = [_setting(n, v) for n, v in values.items() if len(set(v)) > 1]
        alike = [_setting(n, v[:1]) for n, v in values.items() if len(set(v)) == 1]
        inner = [tables.scrolling(["differs", *known], apart, experiment.title)] if apart else []
        inner.append(tables.scrolling(["the same in all", "value"], alike, experiment.title))
        parts.append(tag("details", tag("summary", experiment.title), inner))
    if results.failed:
        items = [tag("li", tag("code", run), f": {error}") for run, error in results.failed]
        parts.append(join(tag("h3", "Failed runs", id="failed"), tag("ul", items)))
    return join(parts)


def _setting(name: str, values: list[str]) -> Html:
    return tag("tr", tag("th", name, scope="row"), [tag("td", value) for value in values])


def _flat(config: dict[str, Any], at: str = "") -> dict[str, str]:
    """Settings inside settings under one name, such as config.core.temperature."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        inner = isinstance(value, dict) and value
        flat |= _flat(value, f"{at}{name}.") if inner else {f"{at}{name}": str(value)}
    return flat


def _again(results: Results) -> Html:
    versions = [tag("li", f"{n} {v}") for n, v in results.versions.items()]
    return join(
        tag("pre", tag("code", f"{results.command}\npolicy-inertia report {results.folder}")),
        tag("ul", versions, class_="facts"),
    )
