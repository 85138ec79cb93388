"""The report: a study as one HTML file that needs no other file, and its numbers beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import write_file
from policy_inertia.storage import write_json
from policy_inertia.study.analysis import summary
from policy_inertia.study.analysis.statistics import Statistic
from policy_inertia.study.report import figures, tables
from policy_inertia.study.report.html import Html, count, join, tag
from policy_inertia.study.report.inspector import element as inspector
from policy_inertia.study.report.inspector.element import Scene
from policy_inertia.study.report.inspector.scenes import record_scenes
from policy_inertia.study.results import Results

LARGEST, MARGIN = 10_000_000, 100_000  # bytes of the file, and how many of them stay free
INSPECTOR = (
    "Recorded episodes, step by step. The red arrow is the controller: solid where it holds the "
    "previous action (mu of 0.5 or more), dashed where it lets go. The yellow arrow is the action "
    "that the core prefers: solid from a probability of 0.5 on."
)


def write(
    results: Results,
    path: Path,
    inspect: Sequence[Scene] | bool = True,
    statistic: Statistic = "iqm",
    refused: Callable[[str], None] | None = None,
) -> Path:
    """Write the report to `path`, and summary.json, summary.csv and figures/ beside it.

    Args:
        results: the results of a study.
        path: the HTML file.
        inspect: the scenes of the inspector; True records one for each task, False leaves the
            inspector out.
        statistic: "iqm" or "paper"; see `statistics.estimate`.
        refused: called if no episode is recorded because study.json is not trusted.

    Raises:
        InputError: no run is finished, or the file cannot be written.
    """
    if not any(x.seeds for e in results.experiments for x in e.lines):
        raise InputError(f"{results.folder} has no finished run: there is nothing to report yet")
    if isinstance(inspect, bool):
        scenes, notes = record_scenes(results, refused=refused) if inspect else ([], [])
    else:
        scenes, notes = list(inspect), []
    rows = summary.tabulate(results, statistic)
    drawn = figures.inline_figures(results, rows, statistic)
    sections: dict[str, tuple[str, Any]] = {
        "verdict": ("Verdict", tables.verdict(results, rows, statistic)),
        "curves": ("Curves", drawn["curves"]),
        "pareto": ("Return against oscillation", drawn["pareto"]),
        "statistics": ("Statistics", tables.statistics(results, rows, statistic)),
        "inspector": ("Inspector", None),
        "settings": ("Settings", _settings(results)),
        "again": ("Run it again", _again(results)),
    }
    left = LARGEST - len(_page(results, sections).encode()) - MARGIN
    sections["inspector"] = ("Inspector", _inspector(scenes, notes, min(left, inspector.BUDGET)))
    page = _page(results, sections).encode()
    figures.write(results, path.parent / "figures", rows, statistic)
    write_json(path.with_name("summary.json"), summary.to_json(results, rows, statistic))
    write_file(
        path.with_name("summary.csv"), summary.to_csv(rows).encode(errors="backslashreplace")
    )
    write_file(path, page)
    return path


def _page(results: Results, sections: dict[str, tuple[str, Any]]) -> str:
    """Return the whole page; sections without content are left out."""
    script = inspector.asset("inspector.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    rules += f"; script-src 'sha256-{digest}'"  # no other script can run, whatever a study holds
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
    footer = "Made by policy-inertia. summary.json and summary.csv hold the same numbers."
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
        tag("footer", footer),
        tag("script", Html(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _facts(results: Results) -> Html:
    """Return the numbers of experiments, tasks, lines and runs."""
    lines = [x for e in results.experiments for x in e.lines if x.seeds]
    runs = {str(f) for x in lines for f in x.folders}
    facts = [
        count(len(results.experiments), "experiment"),
        count(len({x.task for x in lines}), "task"),
        f"{len({(x.label, x.task) for x in lines})} methods and settings",
        count(len(runs), "finished run"),
    ]
    facts += [f"{len(results.failed)} failed"] if results.failed else []
    return tag("ul", [tag("li", fact) for fact in facts], class_="facts")


def _inspector(scenes: Sequence[Scene], notes: list[str], budget: int) -> Html | None:
    if not scenes and not notes:
        return None
    return join(
        tag("p", INSPECTOR),
        [tag("p", n, class_="note") for n in notes],
        inspector.element(scenes, budget) if scenes else None,
    )


def _settings(results: Results) -> Html:
    """Return the settings of each experiment: those that differ, then those that do not."""
    parts = []
    for experiment in results.experiments:
        configs = {f"{x.label}, {x.task}": _flat(x.config) for x in experiment.lines}
        names = dict.fromkeys(name for config in configs.values() for name in config)
        values = {name: [config.get(name, "") for config in configs.values()] for name in names}
        different = [_setting(n, v) for n, v in values.items() if len(set(v)) > 1]
        equal = [_setting(n, v[:1]) for n, v in values.items() if len(set(v)) == 1]
        inner = []
        if different:
            inner.append(tables.scrolling(["differs", *configs], different, experiment.title))
        inner.append(tables.scrolling(["the same for all", "value"], equal, experiment.title))
        parts.append(tag("details", tag("summary", experiment.title), inner))
    if results.failed:
        items = [tag("li", tag("code", run), f": {error}") for run, error in results.failed]
        parts.append(join(tag("h3", "Failed runs", id="failed"), tag("ul", items)))
    return join(parts)


def _setting(name: str, values: list[str]) -> Html:
    return tag("tr", tag("th", name, scope="row"), [tag("td", value) for value in values])


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Give nested settings one name each, such as config.core.temperature."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        nested = isinstance(value, dict) and value
        flat |= _flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": str(value)}
    return flat


def _again(results: Results) -> Html:
    versions = [tag("li", f"{n} {v}") for n, v in results.versions.items()]
    return join(
        tag("pre", tag("code", f"{results.command}\npolicy-inertia report {results.folder}")),
        tag("ul", versions, class_="facts"),
    )
