"""The tables that `policy-inertia theory` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from policy_inertia.tabular.checks import CheckResult
from policy_inertia.tabular.example_results import ExampleResult, Performance
from policy_inertia.tabular.limit_survey import BURST, COUNT, RATES, Figures, LimitSurvey
from policy_inertia.tabular.survey import Survey
from policy_inertia.tabular.timing import Timing


def survey_tables(survey: Survey) -> list[RenderableType]:
    """The whole survey, ready to print: the checks, the bounds on mu and the examples."""
    parts: list[RenderableType] = [
        checks_table(survey.results),
        f"\nLemma 3.1 allows a mu up to {survey.paper_bound:.2g}, our bound up to "
        f"{survey.our_bound:.2g} (medians)\n",
    ]
    if survey.examples:
        parts.append(examples_table(survey.examples))
    return parts


def checks_table(results: Sequence[CheckResult]) -> Table:
    """One row for each check; statements without a proof are in italics."""
    table = _table(
        f"{results[0].cases} random MDPs for each statement",
        "silent: cases that do not meet the statement's condition; margin: the smallest where the "
        "statement holds; fails: cases where it does not; by: the largest violation; italics: "
        "statements without a proof",
    )
    columns: list[tuple[str, Callable[[CheckResult], str]]] = [
        ("margin", lambda r: "" if r.smallest_margin != r.smallest_margin else
                   _one_digit(r.smallest_margin)),
        ("fails", lambda r: str(r.failed or "")),
        ("by", lambda r: _one_digit(r.largest_violation) if r.failed else ""),
    ]  # fmt: skip
    if any(r.silent for r in results):
        columns.insert(0, ("silent", lambda r: str(r.silent or "")))
    table.add_column("statement", no_wrap=True)
    table.add_column("episodes", no_wrap=True)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for r in results:
        cells = [cell(r) for _, cell in columns]
        table.add_row(
            r.check.statement, r.check.kind, *cells, style="" if r.check.proved else "italic"
        )
    return table


def examples_table(examples: Sequence[ExampleResult]) -> Table:
    """Switch rate and return of each policy, and two points of the curve; 80 columns wide."""
    table = _table(
        "Switch rate and return around the core of nested policy iteration",
        "rule: Theorem 3.1's; nested: nested policy iteration's mu; the last two columns: the "
        "least switch rate of any mu with the return of nested, and with the return of core",
    )
    table.add_column("", no_wrap=True)
    for name in ("core", "rule", "nested", "as nested", "as core"):
        table.add_column(name, justify="right", no_wrap=True)
    for e in examples:
        policies = (_pair(p) for p in (e.core, e.rule, e.nested))
        rates = (f"{e.least_rate(p):.3f}" for p in (e.nested, e.core))
        table.add_row(e.mdp.name, *policies, *rates)
    return table


def limit_tables(survey: LimitSurvey) -> list[RenderableType]:
    """Limits against prices, ready to print."""
    scene = survey.scenes[0]
    counts = [f"{s.mdp.name}: {len(s.curve.vertices)}" for s in survey.scenes]
    counts += [f"{r.family.name}: {np.median(r.vertices):.0f}" for r in survey.families]
    together = [
        f"{scene.share(survey.priced.best_return(xi)):.2f} at xi {xi} (without the limit "
        f"{scene.share(scene.curve.best_return(xi)):.2f})"
        for xi in (0.02, 0.05, 0.1)
    ]
    return [
        "",
        limits_table(survey),
        f"\nPolicies that prices reach (median): {'; '.join(counts)}",
        f"\nAt most {COUNT.burst} switches in an episode and a price, mixed, on "
        f"{scene.mdp.name}: {'; '.join(together)}",
    ]


def limits_table(survey: LimitSurvey) -> Table:
    """Limits against prices: one block of rates for each MDP or family; 80 columns wide."""
    table = _table(
        f"Hard limits on switching (burst {BURST}) against prices of switching",
        "Returns are shares of what switching can gain: 0 is the best policy that never switches, "
        "1 the best of all. xi: switch rate of the best policy under the limit; mixed: best in "
        "expectation at that xi, by mixing policies; price: best of a single price with at most "
        "that xi; limit: best under the limit; lead: limit - price, with a 95% interval; filter: "
        "inside the bucket without planning; breaks: share of episodes in which the policy of "
        "that price breaks the limit; in brackets: number of Garnets on which switching gains "
        "anything, and the figures are their means",
    )
    table.padding = (0, 1, 0, 0)
    for name in ("rate", "xi", "mixed", "price", "limit", "lead", "filter", "breaks"):
        table.add_column(name, justify="left" if name == "rate" else "right", no_wrap=True)
    for scene in survey.scenes:
        table.add_row(scene.mdp.name)
        for rate, f in zip(RATES, scene.at_burst(), strict=True):
            table.add_row(f"  {rate}", *_limit_cells(f, f"{f.lead:+.2f}       "))
        table.add_row()
    for result in survey.families:
        table.add_row(f"{result.family.name} ({len(result.figures[0])})")
        for k, rate in enumerate(RATES):
            means = Figures._make(result.interval(k, name).mean for name in Figures._fields)
            lead = result.interval(k, "lead")
            cells = _limit_cells(means, f"{lead.mean:+.2f} ± {lead.half:.2f}")
            table.add_row(f"  {rate}", *cells)
        table.add_row()
    return table


def _limit_cells(f: Figures, lead: str) -> list[str]:
    returns, others = (f.mixed, f.price, f.limit), (f.filter_, f.breaks)
    shares = [[f"{x:.2f}" for x in part] for part in (returns, others)]
    return [f"{f.switch_rate:.3f}", *shares[0], lead, *shares[1]]


def timing_table(timings: Iterable[Timing]) -> Table:
    """Seconds of processor time for each size of MDP."""
    names = ("states", "actions", "evaluation, s", "nested iteration, s", "curve, a point, s")
    table = Table(*names, title="Processor time as an MDP grows", title_justify="left")
    for t in timings:
        seconds = (f"{s:.2f}" for s in (t.evaluation, t.iteration, t.program))
        table.add_row(str(t.states), str(t.actions), *seconds)
    return table


def _table(title: str, caption: str) -> Table:
    table = Table(title=title, caption=caption, box=None, padding=(0, 2, 0, 0))
    table.title_justify = table.caption_justify = "left"
    return table


def _pair(performance: Performance) -> str:
    return f"{performance.switch_rate:.3f}, {performance.return_:.3f}"


def _one_digit(figure: float) -> str:
    """The number with one digit; 0 if it is only rounding."""
    return f"{figure:.0e}" if abs(figure) > 1e-9 else "0"
