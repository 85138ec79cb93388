"""The studies whose claims are judged by `policy-inertia verdict`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from policy_inertia.errors import InputError, nearest
from policy_inertia.study.declared.minatar_claims import minatar_page
from policy_inertia.study.declared.paper_claims import paper_page
from policy_inertia.study.report.verdict_page import VerdictPage

VERDICTS: dict[str, Callable[[Path], VerdictPage]] = {"paper": paper_page, "minatar": minatar_page}
"""What makes the page of a study from the folder of its records."""


def find_verdict(study: str) -> Callable[[Path], VerdictPage]:
    """Return what makes the page of a study."""
    if study not in VERDICTS:
        raise InputError(f"'{study}' is no study with claims{nearest(study, VERDICTS)}")
    return VERDICTS[study]
