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
from policy_inertia.study.results import ExperimentResults, Results

START, END = "<!-- verdict: made by `policy-inertia verdict` -->", "<!-- end of the verdict -->"
"""Where the table stands in a page that somebody writes."""
COMMAND = "policy-inertia verdict"


@dataclass(frozen=True)
class VerdictPage:
    """A page in Markdown, its first table alone, and its pictures by file name."""

    text: str
    table: str
    pictures: dict[str, bytes]


def verdict_page(
    study: Study,
    claims: Sequence[Claim],
    fit_claims: Sequence[Claim],
    results: Results,
    inertia: Sequence[tuple[str, str]],
) -> VerdictPage:
    """Judge every claim and write the page.

    Args:
        study: The study of the paper.
        claims: What the paper says.
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
    pictures = {**curve_pictures(places), **mu_picture(tasks), **tie_picture()}
    table = verdict_table(judgements)
    parts = [
        _introduction(study, results),
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
        verdict_table(fits),
        claim_tables(fits) or NOTHING,
        SAME,
        fit_table(tasks) or NOTHING,
        FILTER,
        filter_table(tasks) or NOTHING,
        default_rule(tasks, len(study.seeds), len(inertia)),
        *_shown(places, pictures),
    ]
    return VerdictPage("\n\n".join(parts) + "\n", table, pictures)


def _introduction(study: Study, results: Results) -> str:
    runs = {folder for e in results.experiments for x in e.lines for folder in x.folders}
    needed = {run.path for run in study.runs(results.folder)}
    return (
        "# The paper's claims\n\n"
        f"This page is made from `results/{study.name}` by one command; nobody types its figures "
        f"or its verdicts. So far {len(runs)} of {len(needed)} runs have a record.\n\n"
        f"    policy-inertia study {study.name} --records results/{study.name}   # runs what is "
        "missing\n"
        f"    {COMMAND}   # makes this page, its pictures, and the table in results.md\n\n"
        f"All runs have the paper's settings, {study.settings['steps']:,} steps on Highway, seeds "
        f"{min(study.seeds)} to {max(study.seeds)}, and sampled actions, as the paper evaluates. "
        "What the paper does not state is [our reading](studies.md#the-papers-experiments). ξ is "
        "the oscillation ratio: switches per step."
    )


def _shown(
    places: Sequence[tuple[ExperimentResults, str]], pictures: dict[str, bytes]
) -> list[str]:
    """Return the sections with pictures."""
    parts = [
        "## Why μ ends at 0",
        TIES,
        "![The best μ against the advantage](images/paper-ties.png)",
    ]
    if "paper-mu.png" in pictures:
        parts += ["## μ over training", MU_TEXT, "![μ of every seed](images/paper-mu.png)"]
    curves = [name for name in pictures if name not in ("paper-ties.png", "paper-mu.png")]
    if curves:
        titles = [task for experiment, task in places if experiment.of_task(task)]
        parts += ["## Learning curves", CURVES]
        parts += [
            f"![Learning curves on {task}](images/{name})"
            for task, name in zip(titles, curves, strict=True)
        ]
    return parts


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
