"""The page on a paper's claims: its text, its tables and the names of its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy_inertia.study.analysis.claims import IDLE, RULE, Claim, judge
from policy_inertia.study.plan import Study
from policy_inertia.study.report.inertia_tables import (
    Tasks,
    default_rule,
    filter_table,
    fit_table,
    level_table,
)
from policy_inertia.study.report.verdict_pictures import curve_pictures, mu_picture, tie_picture
from policy_inertia.study.report.verdict_tables import claim_tables, verdict_table
from policy_inertia.study.results import Results

START, END = "<!-- verdict: made by `policy-inertia verdict` -->", "<!-- end of the verdict -->"
"""Where the table stands in a page that somebody writes."""


@dataclass(frozen=True)
class Introduction:
    """What a page says before its tables.

    Attributes:
        title: The title of the page.
        command: The command that makes the page.
        makes: What the command makes.
        about: The settings of the runs, in sentences.
        ties: Whether the page explains why μ ends at 0.
        decides: Whether the page says which way to learn μ is the default.
        overview: Whether its first table stands in the overview of results too.
    """

    title: str
    command: str
    makes: str
    about: str
    ties: bool = False
    decides: bool = False
    overview: bool = False


@dataclass(frozen=True)
class VerdictPage:
    """A page in Markdown, its first table alone, and its pictures by file name.

    `file` is the name of the page's file. `overview` says whether the table stands there too.
    """

    file: str
    text: str
    table: str
    pictures: dict[str, bytes]
    overview: bool


def verdict_page(
    study: Study,
    introduction: Introduction,
    claims: Sequence[Claim],
    fit_claims: Sequence[Claim],
    results: Results,
    inertia: Sequence[tuple[str, str]],
) -> VerdictPage:
    """Judge every claim and write the page.

    Args:
        study: The study.
        introduction: What the page says first.
        claims: What the paper says, of the tasks of the study.
        fit_claims: The same of the other way to learn the inertia.
        results: What came out, however many runs are finished.
        inertia: Experiments and tasks where both ways to learn the inertia were run.
    """
    judgements, fits = (
        [judge(claim, results, len(study.seeds)) for claim in each] for each in (claims, fit_claims)
    )
    experiments = {e.name: e for e in results.experiments}
    places = [(experiments[name], task) for name, task in inertia]
    tasks: Tasks = {
        task: {line.label: line for line in experiment.of_task(task)}
        for experiment, task in places
        if experiment.of_task(task)
    }
    ties = tie_picture(study.name) if introduction.ties else {}
    mu, curves = mu_picture(study.name, tasks), curve_pictures(study.name, places)
    table = verdict_table(judgements, study.name)
    parts = [
        _introduction(study, introduction, results),
        table,
        "## The rule",
        RULE,
        OVERALL,
        "## Cell by cell",
        BOLD,
        claim_tables(judgements) or NOTHING,
        "## What the policies do",
        LEVEL_TEXT,
        level_table(tasks) if tasks else NOTHING,
        "## Two ways to learn μ, and a filter",
        WAYS,
        verdict_table(fits, study.name),
        claim_tables(fits) or NOTHING,
        SAME,
        fit_table(tasks) or NOTHING,
        FILTER,
        filter_table(tasks) or NOTHING,
        *([default_rule(tasks, len(study.seeds), len(inertia))] if introduction.decides else []),
        *_section("Why μ ends at 0", TIES, ["The best μ against the advantage"], ties),
        *_section("μ over training", MU_TEXT, ["μ of every seed"], mu),
        *_section("Learning curves", CURVES, [f"Learning curves on {t}" for t in tasks], curves),
    ]
    text, pictures = "\n\n".join(parts) + "\n", {**curves, **mu, **ties}
    return VerdictPage(f"{study.name}.md", text, table, pictures, introduction.overview)


def _introduction(study: Study, introduction: Introduction, results: Results) -> str:
    runs = {folder for e in results.experiments for x in e.lines for folder in x.folders}
    needed = {run.path for run in study.runs(results.folder)}
    return (
        f"# {introduction.title}\n\n"
        f"This page is made from `results/{study.name}` by one command; nobody types its figures "
        f"or its verdicts. So far {len(runs)} of {len(needed)} runs have a record.\n\n"
        f"    policy-inertia study {study.name} --records results/{study.name}   # runs what is "
        "missing\n"
        f"    {introduction.command}   # makes {introduction.makes}\n\n"
        f"{introduction.about} ξ is the oscillation ratio: switches per step."
    )


def _section(title: str, text: str, labels: Sequence[str], pictures: dict[str, bytes]) -> list[str]:
    """Return a section with its pictures; empty without any."""
    images = [f"![{x}](images/{n})" for x, n in zip(labels, pictures, strict=False)]
    return [f"## {title}", text, *images] if images else []


OVERALL = (
    "The column *Measured* has the mean of a claim's cells for each seed, and then the mean and "
    "the 95% t-interval over seeds. Returns there are shares of the other policy's mean return. "
    f"μ *does nothing* in a run if it is under 0.05 at {IDLE:.0%} of the steps of the final "
    "evaluation and more."
)
NOTHING = "Not enough runs are finished yet."
BOLD = (
    "Differences paired by seed, with 95% t-intervals; returns in the unit of the task. Bold: the "
    "condition in the head of the column holds."
)
LEVEL_TEXT = "Sampled actions, mean ± half of the 95% t-interval over seeds."
WAYS = (
    "The paper follows the gradient of its loss. The loss has its minimum in "
    "[closed form](algorithms/nested.md), and the network can be fitted to it "
    "(`--improvement closed-form`): the same optimum, another way to reach it. Judged by the rule "
    "above, its claims would be:"
)
SAME = (
    "Against the gradient, paired by seed; bold differences stand after Holm's correction for "
    "their column:"
)
FILTER = (
    "A hysteresis filter around SAC needs no second training. Its threshold is chosen so that SAC "
    "oscillates as NSAC does with the same seed; the return lies on the line between the "
    "thresholds around it. Where SAC oscillates less even without a filter, it is taken as it is."
)
TIES = (
    "Left: the best μ for a given core, by how much better it is to repeat the last action. Where "
    "all actions are equally good (0) and the core spreads its probability evenly (p = 0.2), the "
    "best μ is 0, because the entropy of the mixed policy is part of its objective: repeating "
    "pays only if it is better by something like α. Right: the paper's gradient goes through "
    "μ (1 − μ). A μ that was driven to 0 while the critics were still wrong comes back late or "
    "never."
)
MU_TEXT = "Each line is one seed: the mean μ over the steps of each evaluation."
CURVES = (
    "Oscillation ratio and return in evaluations: first as the paper shows them (mean, half a "
    "standard deviation), then as we do (mean, 95% t-interval)."
)
