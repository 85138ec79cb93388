"""The parts of a Markdown table: its head, its lines, and estimates as text."""

from __future__ import annotations

from policy_inertia.study.analysis.statistics import Estimate


def head(*columns: str) -> list[str]:
    """Return the first two lines of a table."""
    return [row(*columns), "|---" * len(columns) + "|"]


def row(*cells: str) -> str:
    """Return one line of a table."""
    return "|" + "|".join(f" {c} " if c else " " for c in cells) + "|"


def plus_minus(e: Estimate | None, style: str) -> str:
    """Format a mean with half the width of its interval."""
    if e is None:
        return ""
    half = "" if e.high is None else f" ± {e.high - e.value:{style.removeprefix('+')}}"
    return f"{e.value:{style}}{half}"


def interval(e: Estimate, style: str, bold: bool) -> str:
    """Format a difference with its interval."""
    if e.low is None or e.high is None:
        return f"{e.value:+{style}}"
    text = f"{e.value:+{style}} [{e.low:+{style}}, {e.high:+{style}}]"
    return f"**{text}**" if bold else text
