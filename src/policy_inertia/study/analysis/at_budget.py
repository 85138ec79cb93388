"""Methods at the same oscillation: what each returns, and how often it crashes, within a budget.

A record is one run held to one budget, with greedy or with sampled actions. Records are all that
the tables need, and small enough to be kept.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from policy_inertia.errors import InputError
from policy_inertia.storage import write_file
from policy_inertia.study.analysis.statistics import Estimate, mean_and_t_interval
from policy_inertia.study.results import Results, Series

Way = Literal["greedy", "sampled"]
CORE = "core of "  # a dial's core by itself, with hysteresis
Levels = dict[float, list[dict[str, Any]]]
WAYS: tuple[Way, ...] = ("greedy", "sampled")


@dataclass(frozen=True)
class Record:
    """One run at one budget; without figures where its calibration found no setting for it."""

    task: str
    label: str
    method: str
    seed: int
    budget: float
    way: Way
    calibrated_return: float | None = None  # of the setting, on the episodes that chose it
    oscillation_ratio: float | None = None
    mean_return: float | None = None
    crash_rate: float | None = None
    worth: float | None = None  # see `worth`


def worth(mean_return: float, length: float, ended: float, gamma: float) -> float:
    """What a policy is worth without a time limit, discounted, as it learned to be.

    From the mean return and length of episodes of which a share `ended` by themselves: the reward
    of a step, over all steps to come, if rewards and endings came evenly.
    """
    return mean_return / length / (1 - gamma * (1 - ended / length))


def records(results: Results) -> list[Record]:
    """Everything that a study measured within budgets; of a dial also its core, with hysteresis."""
    found: list[Record] = []
    for experiment in results.experiments:
        for s in experiment.series:
            found += _records(s, s.label, s.method, s.budgets)
            found += _records(s, CORE + s.label, "hysteresis", s.core_budgets)
    if not found:
        raise InputError(
            f"{results.folder} has no run that was held to a budget: give its experiments "
            "'budgets = [0.05, 0.1]' and run the study again"
        )
    return found


def _records(s: Series, label: str, method: str, measured: Levels) -> Iterator[Record]:
    for budget, entries in measured.items():
        for seed, entry in zip(s.seeds, entries, strict=True):
            for way in WAYS:
                r = Record(s.task, label, method, seed, budget, way)
                if way in entry:
                    gamma = s.config["gamma"]
                    r = record_of(r, entry["calibrated_return"], entry[way], gamma)
                yield r


def record_of(r: Record, calibrated_return: float, summary: dict[str, Any], gamma: float) -> Record:
    """The record with the figures of an evaluation."""
    return dataclasses.replace(
        r,
        calibrated_return=calibrated_return,
        oscillation_ratio=summary["oscillation_ratio"],
        mean_return=summary["return"],
        crash_rate=summary["crash_rate"],
        worth=worth(summary["return"], summary["length"], summary["termination_rate"], gamma),
    )


def write_records(path: Path, kept: Iterable[Record]) -> None:
    text = StringIO()
    names = [f.name for f in dataclasses.fields(Record)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for r in kept:
        row = dataclasses.asdict(r)
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    write_file(path, text.getvalue().encode())


def read_records(path: Path) -> list[Record]:
    """What `write_records` wrote."""

    def number(text: str | None) -> float | None:
        return float(text) if text else None

    try:
        with open(path, newline="") as file:
            return [
                Record(
                    row["task"],
                    row["label"],
                    row["method"],
                    int(row["seed"]),
                    float(row["budget"]),
                    "greedy" if row["way"] == "greedy" else "sampled",
                    *(number(row.get(f.name)) for f in dataclasses.fields(Record)[6:]),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} holds no records of budgets ({error!r}): give a study's folder, or the "
            "records.csv that this command wrote"
        ) from error


@dataclass(frozen=True)
class Matched:
    """A method at a budget: over the seeds that can keep it, by seed."""

    task: str
    method: str
    budget: float
    way: Way
    seeds: int
    kept: dict[int, Record]

    def estimate(self, figure: str) -> Estimate | None:
        """The mean of `mean_return`, `crash_rate` or `oscillation_ratio` over seeds.

        Not the interquartile mean: a seed that crashes all the time is not to be left out.
        """
        values = [getattr(r, figure) for r in self.kept.values()]
        return mean_and_t_interval(values) if values and None not in values else None


def matched(kept: Sequence[Record]) -> list[Matched]:
    """Every method at every budget, greedy and sampled.

    The sizes of a penalty are one method: seed by seed, the one whose return is best in
    calibration. So what is reported had no part in the choice.
    """
    groups: dict[tuple[str, str, float, Way], list[Record]] = {}
    for r in kept:
        name = r.method if r.method.endswith("-ip") else r.label
        groups.setdefault((r.task, name, r.budget, r.way), []).append(r)
    found = []
    for (task, name, budget, way), group in groups.items():
        labels = len({r.label for r in group})
        by_seed = {s: [r for r in group if r.seed == s] for s in sorted({r.seed for r in group})}
        by_seed = {s: sizes for s, sizes in by_seed.items() if len(sizes) == labels}
        reached = {
            s: [(r.calibrated_return, r) for r in sizes if r.calibrated_return is not None]
            for s, sizes in by_seed.items()
        }
        best = {s: max(c, key=lambda pair: pair[0])[1] for s, c in reached.items() if c}
        found.append(Matched(task, name, budget, way, len(by_seed), best))
    return found


@dataclass(frozen=True)
class Versus:
    """Ours minus the best rival, paired by seed: at one task and budget.

    The rival is the one with the highest return there, as if one could have known: so ties are in
    its favour. `safest` is the one that crashes least, `worthiest` the one that is worth most.
    """

    rival: Matched
    mean_return: Estimate
    crash_rate: Estimate | None
    safest: Matched | None
    to_safest: Estimate | None
    worthiest: Matched | None
    to_worthiest: Estimate | None


def versus(rows: Sequence[Matched], ours: Matched) -> Versus | None:
    """`ours` beside the rivals, which are no dials; None where either side reaches nothing.

    A rival counts where at least as many of its seeds keep the budget as of ours.
    """
    rivals = [
        m
        for m in rows
        if (m.task, m.budget, m.way) == (ours.task, ours.budget, ours.way)
        and not m.method.startswith("dial")
        and len(m.kept) >= len(ours.kept)
        and m.kept.keys() & ours.kept.keys()
    ]
    if not rivals:
        return None

    def against(figure: str, sign: int) -> tuple[Matched | None, Estimate | None]:
        found = [(e.value * sign, m) for m in rivals if (e := m.estimate(figure)) is not None]
        if not found or ours.estimate(figure) is None:
            return None, None
        best = max(found, key=lambda pair: pair[0])[1]
        return best, difference(ours, best, figure)

    rival, mean_return = against("mean_return", 1)
    if rival is None or mean_return is None:
        return None
    safest, to_safest = against("crash_rate", -1)
    crash_rate = difference(ours, rival, "crash_rate") if safest else None
    return Versus(rival, mean_return, crash_rate, safest, to_safest, *against("worth", 1))


def difference(ours: Matched, theirs: Matched, figure: str) -> Estimate:
    """The mean of ours minus theirs over the seeds that both have."""
    both = [s for s in ours.kept if s in theirs.kept]
    values = [getattr(ours.kept[s], figure) - getattr(theirs.kept[s], figure) for s in both]
    return mean_and_t_interval(values)


SHOWN = {"mean_return": ".1f", "crash_rate": ".2f"}
WORTH = {"worth": ".1f"}


def markdown(rows: Sequence[Matched], way: Way, figures: dict[str, str] = SHOWN) -> str:
    """A table for each task: methods down, budgets across; `figures` with their formats."""
    shown = [m for m in rows if m.way == way]
    budgets = sorted({m.budget for m in shown})
    lines = []
    for task in dict.fromkeys(m.task for m in shown):
        lines += [f"**{task}**, {way} actions", ""]
        lines += [
            f"| | {' | '.join(f'ξ ≤ {b:g}' for b in budgets)} |",
            "|---" * (len(budgets) + 1) + "|",
        ]
        here = [m for m in shown if m.task == task]
        for method in dict.fromkeys(m.method for m in here):
            cells = {m.budget: _cell(m, figures) for m in here if m.method == method}
            lines.append(f"| {method} | {' | '.join(cells.get(b, '') for b in budgets)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(m: Matched, figures: dict[str, str]) -> str:
    if not m.kept:
        return "–"
    parts = [_told(m.estimate(figure), style) for figure, style in figures.items()]
    few = f" ({len(m.kept)} of {m.seeds})" if len(m.kept) < m.seeds else ""
    return " / ".join(p for p in parts if p) + few


def _told(e: Estimate | None, style: str) -> str:
    if e is None:
        return ""
    return f"{e.value:{style}}" + ("" if e.high is None else f" ± {e.high - e.value:{style}}")


def verdicts(rows: Sequence[Matched], way: Way) -> str:
    """A line for every dial at every budget that it keeps: ours minus the best rival."""
    lines = [
        "| | | budget | best rival | return | crash rate | safest rival | crash rate "
        "| worthiest rival | worth |",
        "|---" * 10 + "|",
    ]
    for m in rows:
        against = versus(rows, m) if m.way == way and m.method.startswith("dial") else None
        if against is None:
            continue
        cells = (
            m.task,
            m.method,
            f"{m.budget:g}",
            against.rival.method,
            _signed(against.mean_return, ".2f"),
            _signed(against.crash_rate, ".3f"),
            against.safest.method if against.safest else "",
            _signed(against.to_safest, ".3f"),
            against.worthiest.method if against.worthiest else "",
            _signed(against.to_worthiest, ".1f"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def own_cores(rows: Sequence[Matched], way: Way) -> str:
    """A line for every dial and budget: ours minus hysteresis on the very same core."""
    lines = ["| | | budget | return | crash rate |", "|---|---|---|---|---|"]
    at = {(m.task, m.method, m.budget): m for m in rows if m.way == way}
    for (task, method, budget), ours in at.items():
        core = at.get((task, CORE + method, budget))
        if core is None or not ours.kept.keys() & core.kept.keys():
            continue
        change = _signed(difference(ours, core, "mean_return"), ".2f")
        told = ours.estimate("crash_rate") is not None
        crashes = _signed(difference(ours, core, "crash_rate"), ".3f") if told else ""
        lines.append(f"| {task} | {method} | {budget:g} | {change} | {crashes} |")
    return "\n".join(lines)


def _signed(e: Estimate | None, style: str) -> str:
    """A difference with its interval; bold where that leaves 0 out."""
    if e is None or e.low is None or e.high is None:
        return "" if e is None else f"{e.value:+{style}}"
    text = f"{e.value:+{style}} [{e.low:+{style}}, {e.high:+{style}}]"
    return f"**{text}**" if e.low > 0 or e.high < 0 else text
