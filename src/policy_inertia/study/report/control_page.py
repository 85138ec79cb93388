"""Markdown tables of the study of control, and a page that holds them."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.errors import InputError
from policy_inertia.metrics.measures import FLUCTUATION
from policy_inertia.study.analysis.at_budget import Record, at_budgets
from policy_inertia.study.analysis.constant_action import RANDOM
from policy_inertia.study.analysis.equal_return import Calmest, calmest
from policy_inertia.study.plan import Study
from policy_inertia.study.report.markdown import (
    RETURN_AND_CRASHES,
    budget_tables,
    paired_page,
)
from policy_inertia.study.report.markdown_cells import head, plus_minus, row

REFERENCE = "SAC"
OURS = "dial"
BEGIN, END = "<!-- begin: at-budget -->", "<!-- end: at-budget -->"
NO_DIAL = "No run of the dial has a record yet."
MOVEMENT = {FLUCTUATION.name: ".4f"}


def control_tables(study: Study, records: Sequence[Record]) -> str:
    """Return the tables of the page: the least movement, returns, movement and differences.

    Args:
        study: The study, for the number of its runs.
        records: What was measured, however many runs are finished.
    """
    rows = at_budgets(records)
    if not rows:
        return coverage(study, records)
    return "\n\n".join(
        text.strip()
        for text in (
            coverage(study, records),
            "## The least movement at equal return",
            calmest_table(calmest(rows, REFERENCE, RANDOM)),
            "## Return at the same movement",
            budget_tables(rows, "greedy", RETURN_AND_CRASHES, FLUCTUATION),
            "## The movement that was measured",
            budget_tables(rows, "greedy", MOVEMENT, FLUCTUATION),
            "## The dial minus each rival",
            paired_page(records, OURS) if any(r.name == OURS for r in rows) else NO_DIAL,
        )
    )


def coverage(study: Study, records: Sequence[Record]) -> str:
    """Return how many runs of each task have a record, in a sentence."""
    lines = [(x.task.name, x.label) for _, x in study.lines()]
    runs = {(r.task, r.label, r.seed) for r in records if (r.task, r.label) in lines}
    each = {task: sum(t == task for t, _ in lines) * len(study.seeds) for task, _ in lines}
    needed = sum(each.values())
    if not runs:
        return f"**Not run (0 of {needed} records).**"
    parts = (f"{task} {sum(r[0] == task for r in runs)} of {n}" for task, n in each.items())
    return f"**{len(runs)} of {needed} runs have a record**: {'; '.join(parts)}."


def calmest_table(rows: Sequence[Calmest]) -> str:
    """Return a line for each task and policy: the smallest budget that costs it nothing."""
    lines = head("", "", "budget", "action fluctuation", "loss of return")
    for policy in rows:
        budget = "–" if policy.budget is None else f"{policy.budget:g}"
        moved, loss = plus_minus(policy.fluctuation, ".4f"), plus_minus(policy.loss, ".1%")
        lines.append(row(policy.task, policy.name, budget, moved, loss))
    return "\n".join(lines)


def with_tables(page: str, tables: str) -> str:
    """Return a page with these tables between its two marks.

    Raises:
        InputError: The page does not have the marks once each, in their order.
    """
    first, begin, rest = page.partition(BEGIN)
    _, end, last = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the page has no place for the tables: put {BEGIN} and {END} into it")
    return f"{first}{BEGIN}\n\n{tables}\n\n{END}{last}"
