"""Markdown tables of a paper's claims, each with its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.metrics.measures import CRASHES, MU, OSCILLATION, RETURN
from policy_inertia.study.analysis.claims import Effect, Judgement
from policy_inertia.study.report.html import count_range
from policy_inertia.study.report.markdown_cells import head, interval, row

SYMBOLS = {
    OSCILLATION.name: "ξ",
    RETURN.name: "return",
    MU.name: "mean μ",
    CRASHES.name: "crash rate",
}
STYLES = {OSCILLATION.name: ".3f", RETURN.name: ".2f", MU.name: ".3f", CRASHES.name: ".3f"}


def verdict_table(judgements: Sequence[Judgement], study: str) -> str:
    """Return a line for each claim: what it says, what was measured, the verdict, and why.

    Args:
        judgements: The claims as they were judged.
        study: Name of their study, for the command that makes missing records.
    """
    lines = head("Claim", "Measured", "Verdict", "Why")
    for j in judgements:
        lines.append(row(j.claim.text, _measured(j), f"**{j.verdict}**", _why(j, study)))
    return "\n".join(lines)


def _measured(j: Judgement) -> str:
    """Return the mean of each difference over the claim's cells, and how many cells hold."""
    parts = []
    for measure, about in j.kinds:
        e = j.overall(measure, about)
        if e is not None:
            style = ".1%" if measure is RETURN else STYLES[measure.name]
            parts.append(f"{SYMBOLS[measure.name]}, {about}: {interval(e, style, False)}")
    if not parts:
        return ""
    seeds = {len(effect.differences) for _, effect in j.effects}
    parts.append(f"{j.holding} of {len(j.cells)} cells hold; {count_range(seeds, 'seed')}")
    return "<br>".join(parts)


def _why(j: Judgement, study: str) -> str:
    """Return which conditions fail in which cells, and how many learned inertias do nothing."""
    parts = []
    if j.records < j.needed:
        experiments = " ".join(dict.fromkeys(side.experiment for side in j.claim.sides))
        parts.append(f"records are missing: `study {study} --only {experiments}`")
    else:
        for measure, about in j.kinds:
            failing = [
                (name, effect)
                for name, effect in j.effects
                if effect.kind == (measure, about) and not effect.holds
            ]
            if failing:
                wanted = failing[0][1].condition.wanted
                names = ", ".join(
                    f"{name} ({'refuted' if effect.refuted else 'open'})"
                    for name, effect in failing
                )
                parts.append(f"{SYMBOLS[measure.name]} ({about}) not {wanted}: {names}")
    if j.idle is not None and j.idle[1]:
        parts.append(f"μ does nothing in {j.idle[0]} of {j.idle[1]} runs of {j.claim.inertia}")
    return "; ".join(parts)


def claim_tables(judgements: Sequence[Judgement]) -> str:
    """Return a table for each claim that has a measured cell: cells down, differences across."""
    parts = []
    for j in judgements:
        kinds = j.kinds
        if all(effect.estimate is None for _, effect in j.effects):
            continue
        wanted = {e.kind: e.condition.wanted for _, e in j.effects}
        columns = [f"{SYMBOLS[m.name]}, {about}: {wanted[m, about]}?" for m, about in kinds]
        lines = [f"**{j.claim.text}** ({j.claim.place}): {j.verdict}", ""]
        lines += head("", *columns, "seeds", "holds")
        for name, effects in j.cells.items():
            by_kind = {e.kind: e for e in effects}
            cells = [_effect_cell(by_kind[kind]) if kind in by_kind else "" for kind in kinds]
            seeds = str(min(len(e.differences) for e in effects))
            lines.append(row(name, *cells, seeds, "yes" if all(e.holds for e in effects) else "no"))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _effect_cell(effect: Effect) -> str:
    e = effect.estimate
    return "" if e is None else interval(e, STYLES[effect.condition.measure.name], effect.holds)
