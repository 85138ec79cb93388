"""The figures of a study: learning curves like the paper's, and return against oscillation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from policy_inertia.drawing.palette import COLOURS, INK, MARKERS, colour, text_colour
from policy_inertia.drawing.plots import Line, Panel, Point, render, save
from policy_inertia.files import make_folder
from policy_inertia.metrics.estimates import LEVEL
from policy_inertia.metrics.measures import CRASHES, MU, OSCILLATION, RETURN, Measure
from policy_inertia.planner.known_edges import LABEL, named_edge
from policy_inertia.run_settings import merge
from policy_inertia.study.analysis.learning_curves import learning_curves
from policy_inertia.study.analysis.statistics import CurveStatistic, Estimate, Statistic
from policy_inertia.study.analysis.summary import Row
from policy_inertia.study.report.html import Html, count_range, tag
from policy_inertia.study.results import ExperimentResults, LineResults, Results

INLINE_WIDTH = 4.0
"""Inches of a panel in the page: on a phone its text is as large as small print."""
INK_LINE = COLOURS[6]
"""Black, for what is no method: the planner."""
SIGNS, LINE = "●■◆▲▼✚✖★", "━"
"""How the page writes the markers of points, in the order of `MARKERS`, and a line."""


@dataclass(frozen=True)
class Figure:
    """Panels side by side; `alt` describes them for readers who do not see them."""

    kind: str  # "curves" or "pareto"
    experiment: str
    task: str
    name: str
    title: str
    caption: str
    alt: str
    panels: list[Panel]


def figures(
    results: Results, tables: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> list[Figure]:
    """Return the curves and the Pareto figure of each experiment and task."""
    drawn = []
    for experiment in results.experiments:
        for task in experiment.tasks:
            if experiment.of_task(task):
                drawn.append(curves(experiment, task, statistic))
                drawn.append(pareto(experiment, task, tables[experiment.name]))
    return [figure for figure in drawn if figure.panels]


def write(
    results: Results, folder: Path, tables: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> list[Path]:
    """Write all figures as SVG and PNG; `tables` is from `summary.tabulate`."""
    make_folder(folder)
    paths = []
    for figure in figures(results, tables, statistic):
        files = [folder / f"{figure.name}.{kind}" for kind in ("svg", "png")]
        save(figure.panels, f"{figure.title}\n{figure.caption}", *files)
        paths += files
    return paths


def curves(experiment: ExperimentResults, task: str, statistic: CurveStatistic = "iqm") -> Figure:
    """Return oscillation (left) and return (right) during training; an ablation adds mean mu."""
    lines = experiment.of_task(task)
    measures = [OSCILLATION, *([MU] if experiment.ablation else []), RETURN]
    panels = [
        Panel(
            "environment steps",
            measure.label,
            [
                Line(c.label, colour(i), c.steps, c.centre, c.low, c.high)
                for i, c in enumerate(learning_curves(lines, measure, statistic))
                if c is not None
            ],
            time=True,
        )
        for measure in measures
    ]
    names = " and ".join(m.label for m in measures)
    return Figure(
        "curves",
        experiment.name,
        task,
        _file_name(experiment, task, "curves"),
        f"{experiment.title}, {task}",
        f"{_interval_name(statistic)}; sampled actions, {_seeds(lines)}",
        f"Learning curves of {names} of {', '.join(x.label for x in lines)} on {task}",
        [p for p in panels if p.lines],
    )


def pareto(experiment: ExperimentResults, task: str, table: list[Row]) -> Figure:
    """Return the return and the crash rate against oscillation, with each filter's whole curve."""
    lines = experiment.of_task(task)
    rows = [r for r in table if r.task == task and r.actions != "core"]
    measures = [m for m in (RETURN, CRASHES) if m is RETURN or any(r.known(m) for r in rows)]
    panels = [
        Panel(
            OSCILLATION.label,
            measure.label,
            [curve for i, x in enumerate(lines) for curve in _filter_lines(rows, x, i, measure)]
            + _edge_lines(lines[0], measure),
            [p for i, x in enumerate(lines) for p in _points(rows, x, i, measure)]
            + [p for i, x in enumerate(lines) for p in _filter_names(rows, x, i, measure)],
            label_ends=False,
        )
        for measure in measures
    ]
    filters = (
        "; lines: with a hysteresis filter, the threshold rising along the line (dashed: greedy)"
        if any(line.dots for p in panels for line in p.lines)
        else ""
    )
    if any(line.colour == INK_LINE and line.label for p in panels for line in p.lines):
        filters += f"; dashed black: {LABEL}"
    names = " and ".join(m.label for m in measures)
    return Figure(
        "pareto",
        experiment.name,
        task,
        _file_name(experiment, task, "pareto"),
        f"{experiment.title}, {task}",
        f"filled: sampled actions, hollow: greedy{filters}; {_seeds(lines)}",
        f"{names.capitalize()} against oscillation ratio of "
        f"{', '.join(x.label for x in lines)} on {task}",
        panels,
    )


def inline_figures(
    results: Results, tables: dict[str, list[Row]], statistic: Statistic
) -> dict[str, list[Html]]:
    """Return the figures as HTML by kind, each below the title of its experiment."""
    titles = {e.name: e.title for e in results.experiments}
    parts: dict[str, list[Html]] = {"curves": [], "pareto": []}
    headed: set[tuple[str, str]] = set()
    for figure in figures(results, tables, statistic):
        section = parts[figure.kind]
        if (figure.kind, figure.experiment) not in headed:
            headed.add((figure.kind, figure.experiment))
            section.append(tag("h3", titles[figure.experiment]))
        panels = [
            _inline_svg(
                render([_unnamed(p)], salt=f"{figure.name}-{k}", width=INLINE_WIDTH)[0],
                f"{figure.alt}: {p.y_label}",
            )
            for k, p in enumerate(figure.panels)
        ]
        drawing = tag("div", panels, class_="panels")
        caption = tag("figcaption", tag("b", figure.task), f": {figure.caption}")
        section.append(tag("figure", _key(figure), drawing, caption, id=figure.name))
    return parts


def _unnamed(panel: Panel) -> Panel:
    """The panel without names: the page has them in a key, as text of its own size."""
    points = [replace(point, label="") for point in panel.points if point.marker]
    return replace(panel, points=points, label_ends=False)


def _key(figure: Figure) -> Html:
    """Return the names of a figure's lines or markers, each with its sign in its colour."""
    signs: dict[str, tuple[str, str]] = {}
    for panel in figure.panels:
        for point in panel.points:
            if point.marker and point.label:
                signs[point.label] = (point.colour, SIGNS[MARKERS.index(point.marker)])
        for line in panel.lines:
            if line.label:
                signs.setdefault(line.label, (line.colour, LINE))
    items = [
        tag("li", tag("i", sign, style=f"color:var(--s{COLOURS.index(colour)})"), name)
        for name, (colour, sign) in signs.items()
    ]
    return tag("ul", items, class_="key")


def _inline_svg(svg: bytes, alt: str) -> Html:
    """Return an SVG file as part of a page: with a title, scalable, in the page's colours."""
    text = svg.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    start, end = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', start)
    assert box, "Matplotlib writes a viewBox"
    # ids that nothing refers to go: several figures in one page would repeat them
    used = set(re.findall(r"#([\w-]+)[)\"]", end))
    end = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", end)
    for i, line in enumerate(COLOURS):
        if text_colour(line) != line.lower():
            end = end.replace(text_colour(line), f"var(--t{i})")
        end = end.replace(line.lower(), f"var(--s{i})")
    end = end.replace(INK.lower(), "currentColor")
    title = tag("title", alt)
    return Html(f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img">{title}{end}')


def _points(rows: list[Row], line: LineResults, i: int, measure: Measure) -> list[Point]:
    """Return a line's policies as points: filled for sampled actions, hollow for greedy ones."""
    points: list[Point] = []
    for row in rows:
        if row.label != line.label or row.hysteresis is not None:
            continue
        if not row.known(OSCILLATION, measure):
            continue
        x, y = row.estimates[OSCILLATION.name], row.estimates[measure.name]
        hollow = row.actions == "greedy"
        if hollow and points and (points[0].x, points[0].y) == (x.value, y.value):
            continue  # a policy that always acts greedily
        marker = MARKERS[i % len(MARKERS)]
        label = "" if hollow else line.label
        place = (x.value, y.value, _interval(x), _interval(y))
        points.append(Point(label, colour(i), marker, *place, hollow))
    return points


def _filter_lines(rows: list[Row], line: LineResults, i: int, measure: Measure) -> list[Line]:
    """Return the filter's curves: from the policy itself through ever higher thresholds."""
    lines = []
    for actions in ("sampled", "greedy"):
        filtered = _by_threshold(rows, line, actions, measure)
        if len(filtered) > 1:
            x, y = ([r.estimates[m.name].value for r in filtered] for m in (OSCILLATION, measure))
            lines.append(Line("", colour(i), x, y, dashed=actions == "greedy", dots=True))
    return lines


def _edge_lines(line: LineResults, measure: Measure) -> list[Line]:
    """Return the upper edge of the line's task as far as the planner knows it."""
    kwargs = merge(line.config.get("env_kwargs", {}), line.config.get("eval_env_kwargs", {}))
    return [
        Line(
            label,
            INK_LINE,
            [row[OSCILLATION.name] for row in rows],
            [row[measure.name] for row in rows],
            dashed=True,
        )
        for label, rows in named_edge(line.env, kwargs).items()
    ]


def _filter_names(rows: list[Row], line: LineResults, i: int, measure: Measure) -> list[Point]:
    """Return the name of a filter's curve, at its highest threshold."""
    filtered = _by_threshold(rows, line, "sampled", measure)
    if len(filtered) < 2:
        return []
    last = filtered[-1]
    x, y = (last.estimates[m.name].value for m in (OSCILLATION, measure))
    return [Point(f"{line.label}, filter {last.hysteresis:g}", colour(i), "", x, y)]


def _by_threshold(rows: list[Row], line: LineResults, actions: str, measure: Measure) -> list[Row]:
    """Return a line's policies with these actions: unfiltered first, then by threshold."""
    own = [r for r in rows if r.label == line.label and r.actions == actions]
    own = [r for r in own if r.known(OSCILLATION, measure)]
    return sorted(own, key=lambda r: -1 if r.hysteresis is None else r.hysteresis)


def _interval(e: Estimate) -> tuple[float, float] | None:
    return None if e.low is None or e.high is None else (e.low, e.high)


def _file_name(experiment: ExperimentResults, task: str, kind: str) -> str:
    name = f"{experiment.name[:80]} {task[:80]} {kind}"  # a file's name has a limit
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


def _interval_name(statistic: CurveStatistic) -> str:
    if statistic == "iqm":
        return f"interquartile mean and {LEVEL:.0%} bootstrap interval"
    if statistic == "mean":
        return f"mean and {LEVEL:.0%} t-interval"
    return "mean and half a standard deviation"


def _seeds(lines: list[LineResults]) -> str:
    return count_range({len(x.seeds) for x in lines}, "seed")
