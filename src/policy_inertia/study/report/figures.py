"""The figures of a study: curves like the paper's, and return against oscillation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from policy_inertia.drawing.plots import MARKERS, Line, Panel, Point, aligned, colour, many, save
from policy_inertia.study.analysis.statistics import LEVEL, Estimate, Statistic, curve
from policy_inertia.study.analysis.summary import (
    CRASHES,
    OSCILLATION,
    RETURN,
    Measure,
    Row,
    of_task,
    tasks,
)
from policy_inertia.study.results import Experiment, Results, Series

OSCILLATION_CURVE = ("eval/oscillation_ratio", "oscillation ratio")
MU_CURVE = ("train/mu_mean", "mean mu")
RETURN_CURVE = ("eval/return", "return")


@dataclass(frozen=True)
class Figure:
    """Panels that belong together. `alt` says in words what a picture of them shows."""

    kind: str  # curves or pareto
    experiment: str
    task: str
    name: str
    title: str
    caption: str
    alt: str
    panels: list[Panel]


def figures(
    results: Results, found: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> list[Figure]:
    """Every figure of a study: for each experiment and task the curves and the Pareto picture."""
    drawn = []
    for experiment in results.experiments:
        for task in tasks(experiment):
            if of_task(experiment, task):
                drawn.append(curves(experiment, task, statistic))
                drawn.append(pareto(experiment, task, found[experiment.name]))
    return [figure for figure in drawn if figure.panels]


def write(
    results: Results, folder: Path, found: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> list[Path]:
    """All figures as SVG and PNG in `folder`; `found` is from `summary.tabulate`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for figure in figures(results, found, statistic):
        here = [folder / f"{figure.name}.{kind}" for kind in ("svg", "png")]
        save(figure.panels, f"{figure.title}\n{figure.caption}", *here)
        paths += here
    return paths


def curves(experiment: Experiment, task: str, statistic: Statistic = "iqm") -> Figure:
    """Oscillation (left) and return (right) while training; an ablation has mean mu between."""
    series = of_task(experiment, task)
    kinds = [OSCILLATION_CURVE, *([MU_CURVE] if experiment.ablation else []), RETURN_CURVE]
    panels = []
    for key, label in kinds:
        lines = []
        for i, s in enumerate(series):
            steps, values = aligned(s.curves, key)
            if values.size and not (values != values).all():  # NaN throughout: not told
                lines.append(Line(s.label, colour(i), steps, *curve(values, statistic)))
        panels.append(Panel("environment steps", label, lines))
    names = " and ".join(label for _, label in kinds)
    return Figure(
        "curves",
        experiment.name,
        task,
        _name(experiment, task, "curves"),
        f"{experiment.title}, {task}",
        f"{_shade(statistic)}; sampled actions, {_seeds(series)}",
        f"Training curves of {names} of {', '.join(s.label for s in series)} on {task}",
        [p for p in panels if p.lines],
    )


def pareto(experiment: Experiment, task: str, found: list[Row]) -> Figure:
    """Return, and crash rate, against oscillation, with the whole curve of each filter."""
    series = of_task(experiment, task)
    here = [r for r in found if r.task == task and r.actions != "core"]
    told = any(CRASHES.key in r.estimates for r in here)
    panels = [
        Panel(
            OSCILLATION.label,
            measure.label,
            [line for i, s in enumerate(series) for line in _filters(here, s, i, measure)],
            [p for i, s in enumerate(series) for p in _points(here, s, i, measure)]
            + [p for i, s in enumerate(series) for p in _ends(here, s, i, measure)],
            label_ends=False,
        )
        for measure in (RETURN, *([CRASHES] if told else []))
    ]
    filters = any(p.lines for p in panels)
    dashed = (
        "; lines: with a hysteresis filter of ever higher threshold (dashed: greedy)"
        if filters
        else ""
    )
    return Figure(
        "pareto",
        experiment.name,
        task,
        _name(experiment, task, "pareto"),
        f"{experiment.title}, {task}",
        f"filled: sampled actions, hollow: greedy{dashed}; {_seeds(series)}",
        f"Return{' and crash rate' if told else ''} against oscillation ratio of "
        f"{', '.join(s.label for s in series)} on {task}",
        panels,
    )


def _points(found: list[Row], s: Series, i: int, measure: Measure) -> list[Point]:
    points: list[Point] = []
    for row in found:
        both = [row.estimates.get(m.key) for m in (OSCILLATION, measure)]
        if row.label != s.label or row.hysteresis is not None or None in both:
            continue
        x, y = (e for e in both if e is not None)
        hollow = row.actions == "greedy"
        where = (x.value, y.value, _interval(x), _interval(y))
        if hollow and points and points[0].x == x.value and points[0].y == y.value:
            continue  # a policy that is greedy anyway
        marker = MARKERS[i % len(MARKERS)]
        label = "" if hollow else s.label
        points.append(Point(label, colour(i), marker, *where, hollow))
    return points


def _filters(found: list[Row], s: Series, i: int, measure: Measure) -> list[Line]:
    """From the policy as it is, through ever higher thresholds."""
    lines = []
    for actions in ("sampled", "greedy"):
        own = _thresholds(found, s, actions, measure)
        if len(own) > 1:
            x, y = ([r.estimates[m.key].value for r in own] for m in (OSCILLATION, measure))
            lines.append(Line("", colour(i), x, y, dashed=actions == "greedy", dots=True))
    return lines


def _ends(found: list[Row], s: Series, i: int, measure: Measure) -> list[Point]:
    """The name of a filter's line, at its highest threshold."""
    own = _thresholds(found, s, "sampled", measure)
    if len(own) < 2:
        return []
    x, y = (own[-1].estimates[m.key].value for m in (OSCILLATION, measure))
    return [Point(f"{s.label}, filter {own[-1].hysteresis:g}", colour(i), "", x, y)]


def _thresholds(found: list[Row], s: Series, actions: str, measure: Measure) -> list[Row]:
    own = [r for r in found if r.label == s.label and r.actions == actions]
    own = [r for r in own if {OSCILLATION.key, measure.key} <= r.estimates.keys()]
    return sorted(own, key=lambda r: -1 if r.hysteresis is None else r.hysteresis)


def _interval(e: Estimate) -> tuple[float, float] | None:
    return None if e.low is None or e.high is None else (e.low, e.high)


def _name(experiment: Experiment, task: str, kind: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{experiment.name} {task} {kind}".lower()).strip("-")


def _shade(statistic: Statistic) -> str:
    if statistic == "iqm":
        return f"interquartile mean and {LEVEL:.0%} bootstrap interval"
    return "mean and half a standard deviation"


def _seeds(series: list[Series]) -> str:
    counts = sorted({len(s.seeds) for s in series})
    if len(counts) == 1:
        return many(counts[0], "seed")
    return f"{counts[0]} to {counts[-1]} seeds"
