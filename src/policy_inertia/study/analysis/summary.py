"""The numbers of a report: estimates of every policy, comparisons of policies, and a verdict."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.methods import core_method
from policy_inertia.metrics.measures import (
    CRASHES,
    MEASURES,
    MU,
    OSCILLATION,
    RETURN,
    Measure,
    View,
    select_measures,
)
from policy_inertia.storage import FORMAT, finite
from policy_inertia.study.analysis.statistics import (
    Estimate,
    Statistic,
    estimate,
    leaders,
    probability_of_improvement,
)
from policy_inertia.study.results import ExperimentResults, LineResults, Results

ALL_TASKS = "all tasks"
NEVER_HOLDS, ALWAYS_HOLDS = 0.05, 0.95  # a mean mu outside of these deserves a sentence


@dataclass(frozen=True)
class Row:
    """The figures of one policy over seeds; `missing` has the reason for a missing estimate."""

    experiment: str
    task: str
    label: str
    method: str
    env: str
    actions: str  # "sampled", "greedy", or "core": sampled, without the controller
    hysteresis: float | None
    seeds: list[int]
    values: dict[str, list[float | None]]
    estimates: dict[str, Estimate]
    missing: dict[str, str]

    @property
    def name(self) -> str:
        filtered = "" if self.hysteresis is None else f" + hysteresis {self.hysteresis:g}"
        return f"{self.label}{filtered}{' (core alone)' if self.actions == 'core' else ''}"

    def known(self, *measures: Measure) -> bool:
        """Return whether all these measures have an estimate."""
        return all(m.name in self.estimates for m in measures)


@dataclass(frozen=True)
class Improvement:
    """The probability that a run of `ours` beats one of `theirs`, by measure."""

    experiment: str
    task: str
    ours: str
    theirs: str
    actions: str
    estimates: dict[str, Estimate]

    def resolved(self, measure: Measure) -> bool:
        """Return whether the interval leaves 50% out: one side is better."""
        e = self.estimates.get(measure.name)
        return e is not None and e.excludes(0.5)


def rows(experiment: ExperimentResults, statistic: Statistic = "iqm") -> list[Row]:
    """Return every policy of an experiment: as trained, its core alone, and filtered."""
    table = []
    for line in experiment.lines:
        if not line.seeds:
            continue
        policies: list[tuple[str, float | None, list[dict[str, Any]]]] = [
            (actions, None, [r[actions] for r in line.results])
            for actions in ("sampled", "greedy", "core")
            if all(actions in r for r in line.results)
        ]
        for threshold, filtered in sorted(line.hysteresis.items()):
            policies += [(a, threshold, [f[a] for f in filtered]) for a in ("sampled", "greedy")]
        for actions, level, figures in policies:
            values = {name: [f.get(name) for f in figures] for name in MEASURES}
            about = (line.task, line.label, line.method, line.env, actions, level, line.seeds)
            table.append(Row(experiment.name, *about, values, *_estimates(values, statistic)))
    return table


def tabulate(results: Results, statistic: Statistic = "iqm") -> dict[str, list[Row]]:
    """Return the rows of each experiment, by the experiment's name."""
    return {e.name: rows(e, statistic) for e in results.experiments}


def _estimates(
    values: dict[str, list[float | None]], statistic: Statistic
) -> tuple[dict[str, Estimate], dict[str, str]]:
    estimates, missing = {}, {}
    for name, seeds in values.items():
        if all(v is None for v in seeds):
            continue  # the env or the policy does not report this measure
        try:
            numbers = [math.nan if v is None else float(v) for v in seeds]
            estimates[name] = estimate([numbers], statistic)
        except InputError as error:
            missing[name] = str(error)
    return estimates, missing


def plain(table: Iterable[Row], task: str, actions: str) -> list[Row]:
    """Select the unfiltered policies of one task with these actions."""
    return [r for r in table if r.task == task and r.actions == actions and r.hysteresis is None]


def always_greedy(table: Sequence[Row], row: Row) -> bool:
    """Return whether sampling makes no difference to a policy, as for DQN."""
    policy = (row.task, row.label, row.hysteresis)
    values = [
        r.values for r in table if (r.task, r.label, r.hysteresis) == policy and r.actions != "core"
    ]
    return len(values) == 2 and values[0] == values[1]


def measures_of(table: Iterable[Row], view: View = "list") -> list[Measure]:
    """Return the measures to show for these policies; see `select_measures`."""
    return select_measures([{**r.estimates, **r.missing} for r in table], view)


def marks(table: Sequence[Row], measure: Measure) -> list[str]:
    """Mark the leading policies of a table; see `statistics.leaders`."""
    if measure.better is None:
        return [""] * len(table)
    return leaders([r.estimates.get(measure.name) for r in table], measure.better == "higher")


def improvements(
    experiment: ExperimentResults, table: Sequence[Row], actions: str = "sampled"
) -> list[Improvement]:
    """Compare each pair of policies on each task, then over all tasks that the two share."""
    pairs = []
    by_task = {t: {r.label: r for r in plain(table, t, actions)} for t in experiment.tasks}
    for task, policies in by_task.items():
        for theirs, ours in combinations(policies, 2):
            pairs.append((task, ours, theirs, [(policies[ours], policies[theirs])]))
    labels = dict.fromkeys(label for policies in by_task.values() for label in policies)
    for theirs, ours in combinations(labels, 2):
        shared = [(p[ours], p[theirs]) for p in by_task.values() if ours in p and theirs in p]
        if len(shared) > 1:
            pairs.append((ALL_TASKS, ours, theirs, shared))
    return [
        Improvement(experiment.name, task, ours, theirs, actions, _probabilities(policies))
        for task, ours, theirs, policies in pairs
    ]


def _probabilities(pairs: list[tuple[Row, Row]]) -> dict[str, Estimate]:
    estimates = {}
    for name, m in MEASURES.items():
        if m.better is not None and all(r.known(m) for pair in pairs for r in pair):
            ours: list[Any] = [pair[0].values[name] for pair in pairs]
            theirs: list[Any] = [pair[1].values[name] for pair in pairs]
            estimates[name] = probability_of_improvement(ours, theirs, m.better == "higher")
    return estimates


def verdict(table: Sequence[Row], task: str) -> list[str]:
    """Return the conclusions about one task as sentences; actions are sampled, as in the paper."""
    policies = plain(table, task, "sampled")
    sentences = [_leader_sentence(policies, m) for m in (RETURN, OSCILLATION, CRASHES)]
    sentences += [_controller_sentence(row) for row in policies]
    return [s for s in (*sentences, _filter_sentence(table, policies, task)) if s]


def _controller_sentence(row: Row) -> str:
    """Say if a controller does nothing, or nothing but hold."""
    mu = row.estimates.get(MU.name)
    if mu is None or NEVER_HOLDS <= mu.value <= ALWAYS_HOLDS:
        return ""
    effect = (
        "its controller hardly ever holds, so it acts as its core"
        if mu.value < NEVER_HOLDS
        else "it holds nearly always and hardly decides"
    )
    return f"The mean mu of {row.name} is {MU.show(mu.value)}: {effect}."


def _leader_sentence(policies: Sequence[Row], measure: Measure) -> str:
    """Say which policy leads in a measure, and whether the lead is resolved."""
    known = [r for r in policies if r.known(measure)]
    if len(known) < 2:
        return ""
    values = [r.estimates[measure.name].value for r in known]
    best = known[int(np.argmax(values) if measure.better == "higher" else np.argmin(values))]
    leader = best.estimates[measure.name]
    value = measure.show(leader.value)
    if len(set(values)) == 1:
        return f"{measure.label.capitalize()} is the same for all policies ({value})."
    extreme = "highest" if measure.better == "higher" else "lowest"
    start = f"{measure.label.capitalize()} is {extreme} for {best.name} ({value})"
    labels = marks(known, measure)
    if not any(labels):
        reason = "a single seed" if leader.low is None else "half a standard deviation"
        return f"{start}, but not resolved: {reason} decides nothing."
    tied = [r.name for r, mark in zip(known, labels, strict=True) if mark and r is not best]
    if not tied:
        return f"{start}: its interval is apart from all others."
    others = "all others" if len(tied) == len(known) - 1 else " and ".join(tied)
    return f"{start}, but not resolved: the interval overlaps with {others}."


def _filter_sentence(table: Sequence[Row], policies: Sequence[Row], task: str) -> str:
    """Say whether a filter without training does as well as the smoothest policy."""
    known = [r for r in policies if r.known(RETURN, OSCILLATION)]
    filtered = [
        r
        for r in table
        if r.task == task and r.hysteresis is not None and r.known(RETURN, OSCILLATION)
    ]
    if not known or not filtered:
        return ""

    def value(row: Row, measure: Measure) -> float:
        return row.estimates[measure.name].value

    smooth = min(known, key=lambda r: value(r, OSCILLATION))
    as_good = [
        r
        for r in filtered
        if value(r, OSCILLATION) <= value(smooth, OSCILLATION)
        and value(r, RETURN) >= value(smooth, RETURN)
    ]
    if not as_good:
        return f"No hysteresis filter is both as smooth and as good as {smooth.name}."
    best = max(as_good, key=lambda r: value(r, RETURN))
    return (
        f"{best.name} ({best.actions}), a filter without training, is as smooth as "
        f"{smooth.name} or smoother at no lower return: oscillation ratio "
        f"{OSCILLATION.show(value(best, OSCILLATION))}, return {RETURN.show(value(best, RETURN))}."
    )


def before_and_after(lines: list[LineResults]) -> list[LineResults]:
    """Choose two lines to watch side by side: one without and one with a controller.

    The line without a controller is the other one's core trained by itself, if that is there.
    Without any controller the first two lines are returned.
    """
    nested = [x for x in lines if all("core" in r for r in x.results)]
    others = [x for x in lines if x not in nested]
    if not nested:
        return others[:2]
    core = core_method(nested[0].method)
    others.sort(key=lambda x: x.method != core)
    return [*others[:1], nested[0]]


def median_run(line: LineResults) -> int:
    """Return the index of the run with the median return (the lower one of two)."""
    returns = [r["sampled"][RETURN.name] for r in line.results]
    return int(np.argsort(returns, stable=True)[(len(returns) - 1) // 2])


def to_json(
    results: Results, tables: dict[str, list[Row]], statistic: Statistic = "iqm"
) -> dict[str, Any]:
    """Return all numbers of the report as JSON; `tables` is from `tabulate`."""
    compared = [i for e in results.experiments for i in improvements(e, tables[e.name])]
    values: dict[str, Any] = {
        "format": FORMAT,
        "title": results.title,
        "about": results.about,
        "command": results.command,
        "versions": results.versions,
        "statistic": statistic,
        "rows": [asdict(r) for table in tables.values() for r in table],
        "improvements": [asdict(i) for i in compared],
        "failed": [{"run": run, "error": error} for run, error in results.failed],
    }
    return {k: _without_nan(v) for k, v in values.items()}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    return [_without_nan(v) for v in value] if isinstance(value, list) else finite(value)


COLUMNS = ("experiment", "task", "label", "method", "env", "actions", "hysteresis")


def to_csv(tables: dict[str, list[Row]]) -> str:
    """Return a line for each policy and measure: the estimate, and the value of every seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "measure", "seeds", "estimate", "low", "high", "seed values"))
    for table in tables.values():
        for row in table:
            for name, e in row.estimates.items():
                own = [getattr(row, column) for column in COLUMNS]
                values = " ".join(str(v) for v in row.values[name])
                writer.writerow((*own, name, e.seeds, e.value, e.low, e.high, values))
    return text.getvalue()
