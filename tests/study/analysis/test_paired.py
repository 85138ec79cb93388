import pytest

from policy_inertia import InputError
from policy_inertia.study.analysis.at_budget import AtBudget, Record
from policy_inertia.study.analysis.paired import paired_differences
from policy_inertia.study.report.markdown import paired_tables


def at_budget(name: str, budget: float, *returns: float | None) -> AtBudget:
    """A policy at a budget; None is a seed that cannot keep it."""
    records = {
        seed: Record("T", name, name, seed, budget, "greedy", {"return": r})
        for seed, r in enumerate(returns)
        if r is not None
    }
    return AtBudget("T", name, False, budget, "greedy", len(returns), records)


ROWS = [
    at_budget("ours", 0.1, 5.0, 6.0, 7.0),
    at_budget("clear", 0.1, 4.0, 5.01, 6.0),
    at_budget("unclear", 0.1, 4.0, 5.4, 5.9),
    at_budget("partly", 0.1, None, None, 6.5),
    at_budget("two seeds", 0.1, 4.5, 5.5, None),
    at_budget("elsewhere", 0.2, 1.0, 1.0, 1.0),
]


def test_rivals_are_paired_by_seed_and_corrected_together() -> None:
    cells = {c.rival: c for c in paired_differences(ROWS, "ours", "return")}
    assert list(cells) == ["clear", "unclear", "partly", "two seeds"]
    assert cells["clear"].estimate.value == pytest.approx((1 + 0.99 + 1) / 3)
    raw = cells["unclear"].estimate.p
    assert raw is not None
    assert 0.02 < raw < 0.05
    # two cells have a p-value: the smaller one counts twice
    assert cells["clear"].p == pytest.approx(2 * (cells["clear"].estimate.p or 0))
    assert cells["unclear"].p == pytest.approx(raw)
    assert cells["clear"].resolved
    assert cells["unclear"].resolved
    assert cells["partly"].p is None
    assert not cells["partly"].resolved


def test_a_rival_that_keeps_the_budget_on_some_seeds_only_is_shown_and_not_tested() -> None:
    cell = next(c for c in paired_differences(ROWS, "ours", "return") if c.rival == "two seeds")
    assert cell.estimate.value == 0.5
    assert not cell.whole
    assert cell.p is None
    assert not cell.resolved


def test_a_difference_that_only_its_own_interval_resolves_is_not_bold() -> None:
    weak = [at_budget(f"weak {i}", 0.1, 4.0, 5.4 + i / 100, 5.9) for i in range(3)]
    cells = paired_differences([ROWS[0], *weak], "ours", "return")
    assert all(c.estimate.excludes(0) and not c.resolved for c in cells)
    assert "**+" not in paired_tables(cells, "ours minus", ".2f")
    bold = paired_tables(paired_differences(ROWS, "ours", "return"), "ours minus", ".2f")
    assert "| clear | **+1.00 [+0.98, +1.01]** |" in bold
    assert "| partly | +0.50 |" in bold


def test_an_unknown_policy_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(InputError, match="no policy 'our': they have ours, clear, unclear"):
        paired_differences(ROWS, "our", "return")
