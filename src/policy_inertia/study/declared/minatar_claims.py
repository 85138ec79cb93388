"""The paper's first claim on games from pixels that are small enough: three games of MinAtar."""

from __future__ import annotations

from pathlib import Path

from policy_inertia.study.analysis.claims import Claim
from policy_inertia.study.declared.minatar import STUDY
from policy_inertia.study.declared.paper_claims import smoother
from policy_inertia.study.report.inertia_tables import FIT, GRADIENT
from policy_inertia.study.report.verdict_page import Introduction, VerdictPage, verdict_page
from policy_inertia.study.run_records import Records, recorded_results

INERTIA = tuple((e.name, e.lines[0].task.name) for e in STUDY.experiments)
"""The experiment and the task of each game."""
INTRODUCTION = Introduction(
    "MinAtar: from pixels",
    "policy-inertia verdict minatar",
    "this page and its pictures",
    "The paper's claim about Atari games, on three games of [MinAtar](atari.md#minatar), which are "
    f"small enough to be run. All runs have {STUDY.settings['steps']:,} steps, the settings of "
    f"MinAtar's paper where it has any, nothing tuned, seeds {min(STUDY.seeds)} to "
    f"{max(STUDY.seeds)}, and sampled actions. [What it takes](studies.md#minatar).",
)


def _claims(ours: str, name: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"{name} oscillates less than {rival} on three games of MinAtar, at comparable return",
            "the paper has Atari games",
            tuple(c for e, task in INERTIA for c in smoother(e, (task,), rival, ours)),
            inertia=ours,
        )
        for rival in ("SAC", "DQN")
    )


CLAIMS = _claims(GRADIENT, "NSAC")
FIT_CLAIMS = _claims(FIT, "NSAC by the closed form")


def minatar_page(records: Path) -> VerdictPage:
    """Return the page on MinAtar, from a folder of records."""
    results = recorded_results(STUDY, Records(records))
    return verdict_page(STUDY, INTRODUCTION, CLAIMS, FIT_CLAIMS, results, INERTIA)
