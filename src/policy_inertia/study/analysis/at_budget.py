"""Methods at the same oscillation, or movement of Box actions: return and crash rate in a budget.

A record is one run held to one budget, with greedy or with sampled actions. All tables are made
from records, and records.csv stores them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from policy_inertia.algorithms.interface import Traits
from policy_inertia.errors import InputError
from policy_inertia.files import write_file
from policy_inertia.methods import DISCRETE, TABLES, Method, find_method
from policy_inertia.metrics.measures import (
    FLUCTUATION,
    MEASURES,
    OSCILLATION,
    Measure,
)
from policy_inertia.schema import read_into
from policy_inertia.storage import read_file
from policy_inertia.study.analysis.statistics import Estimate, mean_and_t_interval
from policy_inertia.study.results import Levels, LineResults, Results

Actions = Literal["greedy", "sampled"]
ACTIONS: tuple[Actions, ...] = ("greedy", "sampled")
CORE = "core of "  # starts the label of a dial's core without its controller, with a filter
FILTER = "hysteresis"  # the method of a policy that a filter smooths; of Box actions the best one
BUCKET = "bucket"  # the method of a policy without a dial within a limit
IN_BUCKET = ", in a bucket"  # ends the label of a policy within the best limit
TUNED = ", tuned in a bucket"  # ... with the best price or threshold inside it
CALIBRATED_RETURN = "calibrated_return"  # on the episodes that chose the setting
DISCOUNTED_RETURN = "discounted_return"
LARGEST_CSV = 2**26  # bytes


@dataclass(frozen=True)
class Record:
    """One run at one budget; without figures if no setting of the policy keeps the budget.

    `figures` holds the measures of the final evaluation, the return in calibration, the discounted
    return (see `discounted_return`), the number of settings that were measured for the choice, and
    how often a limit was violated in all final episodes. `chosen_by` is what of the oscillation in
    calibration had to be within the budget (`estimates.Rule`). Old records lack the last three.
    """

    task: str
    label: str
    method: str
    seed: int
    budget: float
    actions: Actions
    figures: dict[str, float] = field(default_factory=dict)
    chosen_by: str = ""


def budget_measure(records: Iterable[Record]) -> Measure:
    """Return what the budgets are about: the movement of Box actions, else the oscillation."""
    moves = any(FLUCTUATION.name in r.figures for r in records)
    return FLUCTUATION if moves else OSCILLATION


COLUMNS = ("task", "label", "method", "seed", "budget", "actions")
CHOSEN_BY = "chosen_by"
TRIALS, VIOLATIONS = "trials", "violations"


def figure_names() -> list[str]:
    """Return the names of a record's figures: the columns of records.csv."""
    return [CALIBRATED_RETURN, *MEASURES, DISCOUNTED_RETURN, TRIALS, VIOLATIONS]


def discounted_return(return_: float, length: float, terminated: float, gamma: float) -> float:
    """Estimate the discounted return of a policy without a time limit, as it learns to maximise it.

    The estimate assumes that rewards and ends are spread evenly over the steps.

    Args:
        return_: mean return of the episodes.
        length: mean length of the episodes.
        terminated: share of episodes that the env ended, not the time limit.
        gamma: the discount factor.
    """
    return return_ / length / (1 - gamma * (1 - terminated / length))


def evaluation_figures(
    summary: dict[str, Any], calibrated_return: float, gamma: float
) -> dict[str, float]:
    """Return the figures of a record from the summary of an evaluation."""
    value = discounted_return(
        summary["return"], summary["length"], summary["termination_rate"], gamma
    )
    figures = {
        CALIBRATED_RETURN: calibrated_return,
        **{name: summary.get(name) for name in MEASURES},
        DISCOUNTED_RETURN: value,
    }
    return {name: number for name, number in figures.items() if number is not None}


def budget_records(results: Results) -> list[Record]:
    """Return a record of every run, budget and kind of actions; of a dial also of its core."""
    records: list[Record] = []
    for experiment in results.experiments:
        for line in experiment.lines:
            has_dial = line_traits(line).adjustable
            method = line.method
            if line_method(line).config.traits.adjustable and not has_dial:
                method = FILTER  # a dial with a fixed price is none
            records += _line_records(line, line.label, method, line.budgets)
            records += _line_records(line, CORE + line.label, FILTER, line.core_budgets)
            method = line.method if has_dial else BUCKET
            records += _line_records(line, line.label + IN_BUCKET, method, line.limits)
            records += _line_records(line, line.label + TUNED, method, line.tuned_limits)
    if not records:
        raise InputError(
            f"{results.folder} has no run that was held to a budget: give its experiments "
            "'budgets = [0.05, 0.1]' or 'limits = [0.05, 0.1]', and run the study again"
        )
    return records


def line_method(line: LineResults) -> Method:
    """Return the row of a line's method, for the kind of its actions."""
    return find_method(line.method, line.config.get("actions", DISCRETE))


def line_traits(line: LineResults) -> Traits:
    """Return what the policies of a line can do, with the settings of the line."""
    own: dict[str, Any] = line.config.get("config", {})
    return read_into(line_method(line).config, own).traits


def base_name(name: str) -> str:
    """Return the name of a policy without the limit around it."""
    return name.removesuffix(TUNED).removesuffix(IN_BUCKET)


def _known_method(name: str) -> Method | None:
    """Return a method's row by its name in a record; None for a rival that is no method."""
    return next((table[name] for table in TABLES.values() if name in table), None)


def _has_sizes(method: Method) -> bool:
    """Whether lines of a method are sizes of one policy: of a penalty, a hold, or a budget."""
    return bool(method.penalty) or method.repeats != (1,) or method.config.traits.one_budget


def _line_records(line: LineResults, label: str, method: str, levels: Levels) -> Iterator[Record]:
    for budget, entries in levels.items():
        for seed, entry in zip(line.seeds, entries, strict=True):
            for actions in ACTIONS:
                figures: dict[str, float] = {}
                if actions in entry:
                    calibrated, gamma = entry[CALIBRATED_RETURN], line.config["gamma"]
                    figures = evaluation_figures(entry[actions], calibrated, gamma)
                    figures |= {name: entry[name] for name in (TRIALS, VIOLATIONS) if name in entry}
                rule = entry.get(CHOSEN_BY, "")
                yield Record(line.task, label, method, seed, budget, actions, figures, rule)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records as CSV, numbers with six digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = figure_names()
    writer.writerow((*COLUMNS, *names, CHOSEN_BY))
    for r in records:
        cells = [*(getattr(r, name) for name in COLUMNS), *(r.figures.get(name) for name in names)]
        cells.append(r.chosen_by)
        writer.writerow(f"{c:.6g}" if isinstance(c, float) else c for c in cells)
    write_file(path, text.getvalue().encode(errors="backslashreplace"))


def read_records(path: Path) -> list[Record]:
    """Read the file that `write_records` wrote; columns that are no figures are ignored.

    Raises:
        InputError: the file cannot be read, or it holds no records.
    """
    data = read_file(path, LARGEST_CSV)
    try:
        return [_record(row) for row in csv.DictReader(StringIO(data.decode(), newline=""))]
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} holds no records of budgets ({repr(error)[:200]}): give a study's folder, or "
            "the records.csv that this command wrote"
        ) from error


def _record(row: dict[str, str]) -> Record:
    """Read one row; raises ValueError, TypeError or KeyError if it is damaged."""
    figures = {name: float(row[name]) for name in figure_names() if row.get(name)}
    budget, seed = float(row["budget"]), int(row["seed"])
    if not np.isfinite([budget, *figures.values()]).all():
        raise ValueError("a number is NaN or infinite")
    actions: Actions = "greedy" if row["actions"] == "greedy" else "sampled"
    task, label, method = (str(row[name] or "") for name in ("task", "label", "method"))
    rule = str(row.get(CHOSEN_BY) or "")
    return Record(task, label, method, seed, budget, actions, figures, rule)


@dataclass(frozen=True)
class AtBudget:
    """A policy at one budget, over the seeds that keep it.

    `seeds` counts all seeds; `records` has those that keep the budget, by seed.
    """

    task: str
    name: str
    dial: bool
    budget: float
    actions: Actions
    seeds: int
    records: dict[int, Record]

    def estimate(self, figure: str) -> Estimate | None:
        """Return the mean of a figure over seeds; None if a seed has none.

        This is not the interquartile mean: a seed that always crashes must count.
        """
        values = [r.figures.get(figure) for r in self.records.values()]
        known = [v for v in values if v is not None]
        return mean_and_t_interval(known) if known and len(known) == len(values) else None


def at_budgets(records: Sequence[Record]) -> list[AtBudget]:
    """Group records by policy, budget and actions.

    The sizes of a penalty count as one policy, and so do lengths of holds: for each seed, the size
    with the best return in calibration. So do the runs of a method that is trained for one budget
    each. The reported episodes have no part in that choice.
    """
    groups: dict[tuple[str, str, float, Actions], list[Record]] = {}
    for r in records:
        method = _known_method(r.method)
        name = r.method if method is not None and _has_sizes(method) else r.label
        groups.setdefault((r.task, name, r.budget, r.actions), []).append(r)
    return [_group(key, group) for key, group in groups.items()]


def _group(key: tuple[str, str, float, Actions], group: list[Record]) -> AtBudget:
    task, name, budget, actions = key
    labels = len({r.label for r in group})
    by_seed = {s: [r for r in group if r.seed == s] for s in sorted({r.seed for r in group})}
    by_seed = {s: sizes for s, sizes in by_seed.items() if len(sizes) == labels}
    within = {}
    for seed, sizes in by_seed.items():
        reached = [(r.figures.get(CALIBRATED_RETURN), r) for r in sizes]
        known = [(value, r) for value, r in reached if value is not None]
        if known:
            within[seed] = max(known, key=lambda pair: pair[0])[1]
    method = _known_method(group[0].method)
    dial = method is not None and method.config.traits.adjustable
    return AtBudget(task, name, dial, budget, actions, len(by_seed), within)


def difference(ours: AtBudget, theirs: AtBudget, figure: str) -> Estimate | None:
    """Return the mean of ours minus theirs over the seeds that both have; None without any."""
    pairs = [
        (ours.records[seed].figures.get(figure), theirs.records[seed].figures.get(figure))
        for seed in ours.records
        if seed in theirs.records
    ]
    values = [a - b for a, b in pairs if a is not None and b is not None]
    return mean_and_t_interval(values) if values and len(values) == len(pairs) else None
