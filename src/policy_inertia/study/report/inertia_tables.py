"""Markdown tables of NSAC's two ways to learn its inertia, and of SAC with hysteresis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from policy_inertia.metrics.measures import CRASHES, MU, OSCILLATION, RETURN, Measure
from policy_inertia.study.analysis.claims import MARGIN, idle_runs, paired, sampled
from policy_inertia.study.analysis.equal_oscillation import return_beyond_filter, standing
from policy_inertia.study.analysis.statistics import Estimate, mean_and_t_interval
from policy_inertia.study.report.html import count
from policy_inertia.study.report.markdown_cells import head, interval, plus_minus, row
from policy_inertia.study.report.verdict_tables import STYLES, SYMBOLS
from policy_inertia.study.results import LineResults

GRADIENT, FIT, CORE = "NSAC", "NSAC, closed form", "SAC"
LEVELS = (RETURN, OSCILLATION, CRASHES, MU)

Tasks = Mapping[str, Mapping[str, LineResults]]
"""By task and label: the lines that have a finished run."""
Differences = Mapping[str, Mapping[int, float]]
"""By task and seed."""


def level_table(tasks: Tasks) -> str:
    """Return what every policy does, with sampled actions: mean ± half of the t-interval."""
    lines = head("", "", "seeds", *(SYMBOLS[m.name] for m in LEVELS), "μ does nothing")
    for task, policies in tasks.items():
        for label, line in policies.items():
            cells = [_level(line, measure) for measure in LEVELS]
            idle, known = idle_runs([line])
            runs = f"{idle} of {known}" if known else ""
            lines.append(row(task, label, str(len(line.seeds)), *cells, runs))
    return "\n".join(lines)


def _level(line: LineResults, measure: Measure) -> str:
    values = list(sampled(line, measure).values())
    return plus_minus(mean_and_t_interval(values), STYLES[measure.name]) if values else ""


def fit_table(tasks: Tasks) -> str:
    """Return NSAC by the closed form minus NSAC by the gradient, on every task that has both."""
    measures = (OSCILLATION, RETURN, CRASHES)
    both = {t: (x[FIT], x[GRADIENT]) for t, x in tasks.items() if FIT in x and GRADIENT in x}
    columns = [
        {t: paired(sampled(ours, m), sampled(theirs, m)) for t, (ours, theirs) in both.items()}
        for m in measures
    ]
    return _table(
        ("closed form − gradient", *(SYMBOLS[m.name] for m in measures)),
        columns,
        [STYLES[m.name] for m in measures],
    )


def beyond_filter(tasks: Tasks, label: str) -> Differences:
    """Return the return of one line minus that of filtered SAC at the same oscillation."""
    return {
        task: return_beyond_filter(lines[label], lines[CORE])
        for task, lines in tasks.items()
        if label in lines and CORE in lines
    }


def filter_table(tasks: Tasks) -> str:
    """Return the return of both NSACs minus that of filtered SAC at the same oscillation."""
    columns = [beyond_filter(tasks, label) for label in (FIT, GRADIENT)]
    names = ("return at equal ξ, minus SAC with hysteresis", "closed form", "gradient")
    return _table(names, columns, [STYLES[RETURN.name]] * 2)


def _table(names: Sequence[str], columns: Sequence[Differences], styles: Sequence[str]) -> str:
    """Return tasks down and differences across; what stands after Holm's correction is bold.

    Without any difference the text is empty.
    """
    texts = [_texts(column, style) for column, style in zip(columns, styles, strict=True)]
    tasks = dict.fromkeys(task for column in columns for task in column if column[task])
    lines = [row(task, *(column.get(task, "") for column in texts)) for task in tasks]
    return "\n".join([*head(*names), *lines]) if lines else ""


def _texts(column: Differences, style: str) -> dict[str, str]:
    """Return the cells of one column; Holm's correction is for the column."""
    estimates = [_mean(differences) for differences in column.values()]
    bold = standing(estimates)
    return {
        task: "" if e is None else f"{interval(e, style, stands)} ({count(e.seeds, 'seed')})"
        for task, e, stands in zip(column, estimates, bold, strict=True)
    }


def _mean(differences: Mapping[int, float]) -> Estimate | None:
    return mean_and_t_interval(list(differences.values())) if differences else None


def default_rule(tasks: Tasks, seeds: int, expected: int) -> str:
    """Return whether the closed form should be the default, by the rule that was set beforehand.

    Args:
        tasks: The lines by task and label.
        seeds: The number of seeds of the study.
        expected: The number of tasks of the study.
    """
    idle, known = idle_runs([lines[FIT] for lines in tasks.values() if FIT in lines])
    compared = beyond_filter(tasks, FIT)
    if known < seeds * expected or len(compared) < expected:
        return f"Not decided: {known} of {seeds * expected} runs have a record."
    even = [t for t in compared if _kept(compared[t], sampled(tasks[t][CORE], RETURN))]
    decision = "becomes" if not idle and len(even) == expected else "does not become"
    return (
        f"μ of the closed form does something in {known - idle} of {known} runs, and the return "
        f"is kept against SAC with hysteresis at equal ξ on {len(even)} of {expected} tasks. "
        f"So the closed form {decision} the default."
    )


def _kept(differences: Mapping[int, float], theirs: Mapping[int, float]) -> bool:
    """Return whether the interval leaves out every loss above the margin."""
    e = _mean(differences)
    least = -MARGIN * abs(float(np.mean(list(theirs.values()))))
    return e is not None and e.low is not None and e.low >= least
