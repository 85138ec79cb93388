"""Markdown tables of the study of `smooth` around other people's policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policy_inertia.drawing.plots import Panel
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.study.analysis.core_gain import better_than_random
from policy_inertia.study.analysis.statistics import mean_and_t_interval
from policy_inertia.study.analysis.transfer_losses import (
    POLICIES,
    TransferAtBudget,
    transfer_losses,
)
from policy_inertia.study.core_plan import LOSS
from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.report.markdown_cells import head, interval, plus_minus, row

Cells = Mapping[str, Sequence[CoreRecord]]
"""Records by the title of their cell."""


def transfer_page(cells: Cells) -> str:
    """Return the tables of the study, and the answer to its three questions."""
    rows = transfer_losses(cells)
    return "\n\n".join([core_table(cells), loss_table(rows), answer(rows)])


def transfer_panels(cells: Cells) -> list[Panel]:
    """Return nothing: three budgets are no curve."""
    return []


def core_table(cells: Cells) -> str:
    """Return a line for each core: its figures, and the return of random actions."""
    lines = head("core", "seeds", "return", "oscillation ratio", "random", "no better than random")
    for title, records in cells.items():
        figures = [
            plus_minus(mean_and_t_interval([r.figures[who][name] for r in records]), style)
            for who, name, style in (
                ("core", RETURN.name, ".1f"),
                ("core", OSCILLATION.name, ".3f"),
                ("random", RETURN.name, ".1f"),
            )
        ]
        useless = len(records) - len(better_than_random(records))
        lines.append(row(title, str(len(records)), *figures, str(useless)))
    return "\n".join(lines)


def loss_table(rows: Sequence[TransferAtBudget]) -> str:
    """Return a line for each core and budget: losses as shares of (core - random)."""
    lines = head(
        *("core", "budget", "oscillation: hysteresis", "controller", "keep the budget"),
        *("compared at", "loss: hysteresis", "controller", "controller minus hysteresis"),
        *("upper 95% bound", f"misses {LOSS:.0%}"),
    )
    for r in rows:
        oscillation = [mean_and_t_interval(values).value for values in r.oscillation.values()]
        lines.append(
            row(
                r.cell,
                f"{r.budget:g}",
                *(f"{value:.3f}" for value in oscillation),
                f"{' and '.join(map(str, r.within_budget.values()))} of {len(r.recommended)}",
                _compared_at(r),
                *(plus_minus(mean_and_t_interval(v), ".1%") for v in r.losses.values()),
                interval(r.difference, ".1%", r.resolved),
                f"{r.upper:+.1%}",
                f"{r.misses} of {len(r.recommended)}",
            )
        )
    return "\n".join(lines)


def _compared_at(r: TransferAtBudget) -> str:
    """At which oscillation ratio the losses are compared."""
    if not r.levels:
        return "the same budget"
    return f"oscillation {mean_and_t_interval(r.levels).value:.3f}"


def answer(rows: Sequence[TransferAtBudget]) -> str:
    """Return in how many rows the study's aims are met."""
    close = sum(r.upper < LOSS for r in rows)
    better = sum(r.resolved and r.difference.value < 0 for r in rows)
    matched = sum(bool(r.levels) for r in rows)
    misses, verdicts = sum(r.misses for r in rows), sum(len(r.recommended) for r in rows)
    hysteresis, controller = (sum(r.within_budget[name] for r in rows) for name in POLICIES)
    return (
        f"The upper 95% bound of the controller's loss against hysteresis is under {LOSS:.0%} of "
        f"(core − random) in {close} of {len(rows)} rows. The controller is resolved to be better "
        f"in {better}. They are compared at matched oscillation in {matched} rows, and at the same "
        f"budget in {len(rows) - matched}. The recommended policy lost more than {LOSS:.0%} in "
        f"{misses} of {verdicts} verdicts. On fresh episodes, hysteresis kept the budget in "
        f"{hysteresis} of {verdicts} cases, and the controller in {controller}."
    )
