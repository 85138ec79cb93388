import re
from pathlib import Path

import pytest

from policy_inertia.tabular import CHECKS, EXAMPLES, expected_return, mixed_policy
from policy_inertia.tabular.cases import random_cases
from policy_inertia.tabular.checks import TOLERANCE
from policy_inertia.tabular.example_results import solve_example
from policy_inertia.tabular.iteration import greedy, nested_policy_iteration, soft
from policy_inertia.tabular.limit_survey import (
    FAMILIES,
    RATES,
    SCENES,
    Figures,
    compare_family,
    compare_limits,
)
from policy_inertia.tabular.margins import (
    rule_near_best,
    smallest_objective_change,
    smallest_q_change,
)
from policy_inertia.tabular.tradeoff import LinearProgram

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
(CHECKS_TABLE,) = re.findall(r"```\nstatement +episodes.*?\n(.*?)```", PAGE, re.S)
(LIMITS_TABLE,) = re.findall(r"```\nrate +xi.*?\n(.*?)```", PAGE, re.S)
HALVES = {
    "greedy": (greedy(), greedy()),
    "soft": (soft(0.1), soft(0.1)),
    "cooler outer": (soft(0.1), soft(0.01)),
}


def failures(check: str) -> int:
    """In how many of 500 MDPs a statement fails, by the table of the page."""
    (row,) = re.findall(rf"^{re.escape(check)} +discounted.*$", CHECKS_TABLE, re.M)
    count = re.search(r" (\d+)  \de[+-]\d\d$", row)
    return int(count.group(1)) if count else 0


def limit_rows(block: str) -> list[list[float]]:
    """The rows of an MDP or a family in the page's table of limits, without their rates."""
    lines = LIMITS_TABLE.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(block)) + 1
    rows = [line.replace("±", "").split() for line in lines[start : start + len(RATES)]]
    assert [row[0] for row in rows] == [str(rate) for rate in RATES]
    return [[float(cell) for cell in row[1:]] for row in rows]


def tradeoff_row(name: str) -> list[float]:
    """The figures of an MDP in the page's table of the trade-off, which has the examples' order."""
    (table,) = re.findall(r"\| \| core \| Theorem 3\.1's rule .*?\n\|-.*?\n(.*?)\n\n", PAGE, re.S)
    rows = dict(zip(EXAMPLES, table.splitlines(), strict=True))
    return [float(x) for x in re.findall(r"\d+\.\d+", rows[name])]


SLOW = "two-way"  # a minute


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (x == SLOW)) for x in EXAMPLES]
)
def test_the_trade_off_is_that_of_the_page(name: str) -> None:
    result = solve_example(EXAMPLES[name]())
    expected = [*result.core, *result.rule, *result.nested]
    expected += [result.least_rate(result.nested), result.least_rate(result.core)]
    assert tradeoff_row(name) == pytest.approx(expected, abs=0.0006)


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(code, {})


def test_the_table_of_the_page_lists_every_check() -> None:
    rows = [re.split(r" {2,}", line.lstrip())[:2] for line in CHECKS_TABLE.splitlines()]
    assert rows == [[check.statement.strip(), check.kind] for check in CHECKS]


def test_no_statement_with_a_proof_fails_in_the_table_of_the_page() -> None:
    for check, line in zip(CHECKS, CHECKS_TABLE.splitlines(), strict=True):
        failed = re.search(r" {2,}\d+ {2}\de[+-]\d\d$", line)
        assert not (failed and check.proved), line


@pytest.mark.parametrize("name", HALVES)
def test_theorem_32_fails_as_often_as_the_page_says(name: str) -> None:
    """Both counts over 500 MDPs: some Q falls, and the objective falls."""
    inner, outer = HALVES[name]
    some_q = objective = 0
    for case in random_cases(500):
        steps = nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu, rounds=20)
        some_q += smallest_q_change(steps) < -TOLERANCE
        objective += smallest_objective_change(steps) < -TOLERANCE
    assert failures(f"Theorem 3.2, {name}: every Q") == some_q
    assert failures(f"  objective, {name}") == objective
    assert f"{some_q} and {objective}." in PAGE


@pytest.mark.slow
def test_the_rule_and_nested_iteration_reach_the_best_return_as_often_as_the_page_says() -> None:
    inner, outer = HALVES["cooler outer"]
    margin = rule_near_best(0.0)
    rule, nested = [], []
    for case in random_cases(500):
        rule.append(-(margin(case) or 0.0))
        last = nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu)[-1]
        best = LinearProgram(case.mdp, last.core).solve().return_
        nested.append(best - expected_return(case.mdp, mixed_policy(last.core, last.mu)))
    words = re.sub(r"\s+", " ", PAGE)
    near, nearer = ([sum(x <= gap for x in xs) for xs in (rule, nested)] for gap in (1e-3, 1e-4))
    assert f"0.001 of the best return in {near[0]}; nested" in words
    assert (
        f"around its own core in {near[1]}. Within 0.0001 it is {nearer[0]} and {nearer[1]}."
        in words
    )


def test_the_figures_of_the_smallest_garnets_are_those_of_the_page() -> None:
    result = compare_family(FAMILIES[0], 100)
    assert f"{FAMILIES[0].name} ({len(result.figures[0])})" in LIMITS_TABLE
    for k, row in enumerate(limit_rows(FAMILIES[0].name)):
        mean = Figures._make(result.interval(k, name).mean for name in Figures._fields)
        lead = result.interval(k, "lead")
        expected = [*mean[:4], *lead, *mean[4:]]
        assert row == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(
    "name", ["Two-Way, simple", pytest.param("Two-Way, dense", marks=pytest.mark.slow)]
)
def test_the_figures_of_two_way_are_those_of_the_page(name: str) -> None:
    comparison = compare_limits(SCENES[name]())
    assert comparison
    for row, f in zip(limit_rows(name), comparison.figures, strict=True):
        assert row == pytest.approx([*f[:4], f.lead, *f[4:]], abs=0.006)
        assert f.lead < 0  # on these scenes a limit is behind a price, as the page says
