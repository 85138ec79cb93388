"""From a study's results to the numbers that are reported: tables, comparisons, and a verdict."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.storage import finite
from policy_inertia.study.analysis.statistics import (
    Estimate,
    Statistic,
    estimate,
    leaders,
    probability_of_improvement,
)
from policy_inertia.study.results import Experiment, Results, Series

ALL_TASKS = "all tasks"


@dataclass(frozen=True)
class Measure:
    """Something measured of a policy; `higher_is_better` is None where neither is."""

    key: str
    label: str
    higher_is_better: bool | None
    style: str


RETURN = Measure("return", "return", True, "{:.1f}")
OSCILLATION = Measure("oscillation_ratio", "oscillation ratio", False, "{:.3f}")
CRASHES = Measure("crash_rate", "crash rate", False, "{:.2f}")
ENDS = Measure("termination_rate", "terminated", None, "{:.2f}")  # failure or success: the env's
MU = Measure("mu_mean", "mean mu", None, "{:.2f}")
MEASURES = (RETURN, OSCILLATION, CRASHES, ENDS, MU)


@dataclass(frozen=True)
class Row:
    """A policy's figures over seeds. `missing` says of a measure why it has no estimate."""

    experiment: str
    task: str
    label: str
    method: str
    env: str
    actions: str  # sampled, greedy, or core: sampled without the controller
    hysteresis: float | None
    seeds: list[int]
    values: dict[str, list[float | None]]
    estimates: dict[str, Estimate]
    missing: dict[str, str]

    @property
    def name(self) -> str:
        filtered = "" if self.hysteresis is None else f" + hysteresis {self.hysteresis:g}"
        return f"{self.label}{filtered}{' (core alone)' if self.actions == 'core' else ''}"


@dataclass(frozen=True)
class Improvement:
    """How probably a run of `ours` is better than one of `theirs`, by measure."""

    experiment: str
    task: str
    ours: str
    theirs: str
    actions: str
    estimates: dict[str, Estimate]


def tasks(experiment: Experiment) -> list[str]:
    """The experiment's tasks, in its order."""
    return list(dict.fromkeys(s.task for s in experiment.series))


def of_task(experiment: Experiment, task: str) -> list[Series]:
    return [s for s in experiment.series if s.task == task and s.seeds]


def rows(experiment: Experiment, statistic: Statistic = "iqm") -> list[Row]:
    """Every policy of an experiment: as it is, without its controller, and filtered."""
    found = []
    for s in experiment.series:
        if not s.seeds:
            continue
        sets: list[tuple[str, float | None, list[dict[str, Any]]]] = [
            (kind, None, [r[kind] for r in s.results])
            for kind in ("sampled", "greedy", "core")
            if all(kind in r for r in s.results)
        ]
        for tau, filtered in sorted(s.hysteresis.items()):
            sets += [(kind, tau, [f[kind] for f in filtered]) for kind in ("sampled", "greedy")]
        for kind, threshold, figures in sets:
            values = {m.key: [f.get(m.key) for f in figures] for m in MEASURES}
            estimates, missing = _estimates(values, statistic)
            about = (experiment.name, s.task, s.label, s.method, s.env, kind, threshold, s.seeds)
            found.append(Row(*about, values, estimates, missing))
    return found


def tabulate(results: Results, statistic: Statistic = "iqm") -> dict[str, list[Row]]:
    """The rows of each experiment, by its name."""
    return {e.name: rows(e, statistic) for e in results.experiments}


def _estimates(
    values: dict[str, list[float | None]], statistic: Statistic
) -> tuple[dict[str, Estimate], dict[str, str]]:
    estimates, missing = {}, {}
    for key, told in values.items():
        if all(v is None for v in told):
            continue  # the env does not tell
        try:
            numbers = [math.nan if v is None else float(v) for v in told]
            estimates[key] = estimate([numbers], statistic)
        except InputError as error:
            missing[key] = str(error)
    return estimates, missing


def plain(found: Iterable[Row], task: str, actions: str) -> list[Row]:
    """The rows of one table: one task, one way to act, no filter."""
    return [r for r in found if r.task == task and r.actions == actions and r.hysteresis is None]


def always_greedy(found: Sequence[Row], row: Row) -> bool:
    """Whether sampling makes no difference to a policy, as for DQN."""
    both = [
        r.values
        for r in found
        if (r.task, r.label, r.hysteresis) == (row.task, row.label, row.hysteresis)
        and r.actions != "core"
    ]
    return len(both) == 2 and both[0] == both[1]


def marks(table: Sequence[Row], measure: Measure) -> list[str]:
    """See `statistics.leaders`."""
    if measure.higher_is_better is None:
        return [""] * len(table)
    return leaders([r.estimates.get(measure.key) for r in table], measure.higher_is_better)


def improvements(
    experiment: Experiment, found: Sequence[Row], actions: str = "sampled"
) -> list[Improvement]:
    """Each pair of an experiment's policies on each task, then over the tasks that both have."""
    listed = []
    by_task = {t: {r.label: r for r in plain(found, t, actions)} for t in tasks(experiment)}
    for task, known in by_task.items():
        for theirs, ours in combinations(known, 2):
            listed.append((task, ours, theirs, [(known[ours], known[theirs])]))
    labels = dict.fromkeys(label for known in by_task.values() for label in known)
    for theirs, ours in combinations(labels, 2):
        shared = [(k[ours], k[theirs]) for k in by_task.values() if ours in k and theirs in k]
        if len(shared) > 1:
            listed.append((ALL_TASKS, ours, theirs, shared))
    return [
        Improvement(experiment.name, task, ours, theirs, actions, _probabilities(pairs))
        for task, ours, theirs, pairs in listed
    ]


def _probabilities(pairs: list[tuple[Row, Row]]) -> dict[str, Estimate]:
    found = {}
    for m in MEASURES:
        if m.higher_is_better is not None and all(m.key in r.estimates for p in pairs for r in p):
            ours: list[Any] = [p[0].values[m.key] for p in pairs]
            theirs: list[Any] = [p[1].values[m.key] for p in pairs]
            found[m.key] = probability_of_improvement(ours, theirs, m.higher_is_better)
    return found


def verdict(found: Sequence[Row], task: str) -> list[str]:
    """What a task's results say, in sentences, of sampled actions as in the paper."""
    table = plain(found, task, "sampled")
    said = [_leader(table, m, "highest") for m in (RETURN,)]
    said += [_leader(table, m, "lowest") for m in (OSCILLATION, CRASHES)]
    said += [_controller(row) for row in table]
    return [s for s in (*said, _filter(found, table, task)) if s]


def _controller(row: Row) -> str:
    """Whether a controller does nothing, or nothing else than to hold."""
    mu = row.estimates.get(MU.key)
    if mu is None or 0.05 <= mu.value <= 0.95:
        return ""
    does = (
        "its controller lets go always, and it acts as its core"
        if mu.value < 0.05
        else ("it holds nearly always, and hardly decides")
    )
    return f"The mean mu of {row.name} is {mu.value:.2f}: {does}."


def _leader(table: Sequence[Row], measure: Measure, word: str) -> str:
    known = [r for r in table if measure.key in r.estimates]
    if len(known) < 2:
        return ""
    sign = 1 if measure.higher_is_better else -1
    best = max(known, key=lambda r: sign * r.estimates[measure.key].value)
    value = measure.style.format(best.estimates[measure.key].value)
    said = marks(known, measure)
    if len({r.estimates[measure.key].value for r in known}) == 1:
        return f"{measure.label.capitalize()} is the same with all ({value})."
    start = f"{measure.label.capitalize()} is {word} with {best.name} ({value})"
    if not any(said):
        alone = best.estimates[measure.key].low is None
        why = "a single seed" if alone else "half a standard deviation"
        return f"{start}, but not resolved: {why} decides nothing."
    close = [r.name for r, mark in zip(known, said, strict=True) if mark and r is not best]
    if not close:
        return f"{start}: its interval is apart from all others."
    who = "all others" if len(close) == len(known) - 1 else " and ".join(close)
    return f"{start}, but not resolved: the interval overlaps with {who}."


def _filter(found: Sequence[Row], table: Sequence[Row], task: str) -> str:
    """Whether a filter without any training does as well as the smoothest policy."""
    known = [r for r in table if {"return", "oscillation_ratio"} <= r.estimates.keys()]
    filtered = [
        r
        for r in found
        if r.task == task
        and r.hysteresis is not None
        and {"return", "oscillation_ratio"} <= r.estimates.keys()
    ]
    if not known or not filtered:
        return ""
    smooth = min(known, key=lambda r: r.estimates["oscillation_ratio"].value)
    ret, osc = (smooth.estimates[k].value for k in ("return", "oscillation_ratio"))
    beats = [
        r
        for r in filtered
        if r.estimates["oscillation_ratio"].value <= osc and r.estimates["return"].value >= ret
    ]
    if not beats:
        return f"No hysteresis filter is at once as smooth and as good as {smooth.name}."
    best = max(beats, key=lambda r: r.estimates["return"].value)
    ret, osc = (best.estimates[k].value for k in ("return", "oscillation_ratio"))
    return (
        f"{best.name} ({best.actions}), a filter without any training, is as smooth as "
        f"{smooth.name} or smoother at no lower return: oscillation {osc:.3f}, return {ret:.1f}."
    )


def to_json(
    results: Results, found: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> dict[str, Any]:
    """All numbers of the report, for those who plot themselves; `found` is from `tabulate`."""
    compared = [i for e in results.experiments for i in improvements(e, found[e.name])]
    listed: dict[str, Any] = {
        "format": 1,
        "title": results.title,
        "about": results.about,
        "command": results.command,
        "versions": results.versions,
        "statistic": statistic,
        "rows": [asdict(r) for table in found.values() for r in table],
        "improvements": [asdict(i) for i in compared],
        "failed": [{"run": run, "error": error} for run, error in results.failed],
    }
    return {k: _without_nan(v) for k, v in listed.items()}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    return [_without_nan(v) for v in value] if isinstance(value, list) else finite(value)


COLUMNS = ("experiment", "task", "label", "method", "env", "actions", "hysteresis")


def to_csv(found: dict[str, list[Row]]) -> str:
    """A line for each policy and measure, with the estimate and every seed's value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = ("measure", "seeds", "estimate", "low", "high", "seed values")
    writer.writerow((*COLUMNS, *ends))
    for table in found.values():
        for row in table:
            for key, e in row.estimates.items():
                own = [getattr(row, name) for name in COLUMNS]
                values = " ".join(str(v) for v in row.values[key])
                writer.writerow((*own, key, e.seeds, e.value, e.low, e.high, values))
    return text.getvalue()
