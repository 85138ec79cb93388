from policy_inertia.study.analysis.at_budget import (
    AtBudget,
    Record,
)
from policy_inertia.study.analysis.best_rivals import (
    core_comparisons,
    rival_comparisons,
)
from policy_inertia.study.report.markdown import budget_tables, core_table, rival_table


def at_budget(name: str, *returns: float | None, dial: bool = False) -> AtBudget:
    """A policy at the budget 0.1; None is a seed that cannot keep it."""
    records = {
        seed: Record("T", name, name, seed, 0.1, "greedy", {"return": r, "crash_rate": 0.5})
        for seed, r in enumerate(returns)
        if r is not None
    }
    return AtBudget("T", name, dial, 0.1, "greedy", len(returns), records)


def test_a_cell_shows_means_intervals_and_how_many_seeds_keep_the_budget() -> None:
    table = budget_tables(
        [at_budget("dial", 5.0, 6.0), at_budget("dqn", 4.0, None), at_budget("sac", None)],
        "greedy",
    )
    assert table.splitlines() == [
        "**T**, greedy actions",
        "",
        "| | ξ ≤ 0.1 |",
        "|---|---|",
        "| dial | 5.5 ± 6.4 / 0.50 ± 0.00 |",
        "| dqn | 4.0 / 0.50 (1 of 2) |",
        "| sac | – |",
    ]


def test_a_resolved_difference_is_bold() -> None:
    rows = [
        at_budget("dial", 5.0, 6.1, 5.0, dial=True),
        at_budget("core of dial", 4.0, 5.0, 4.0),
    ]
    last = core_table(core_comparisons(rows, "greedy")).splitlines()[-1]
    assert last.startswith("| T | dial | 0.1 | **+1.03 [+0.89, +1.18]** | +0.000 [")


def test_what_is_bold_stands_after_the_correction_for_all_lines() -> None:
    weak, clear = [4.0, 5.4, 3.9], [4.0, 5.01, 4.0]
    alone = [at_budget("dial", 5.0, 6.0, 5.0, dial=True), at_budget("dqn", *weak)]
    assert "**+0.90 [" in rival_table(rival_comparisons(alone, "greedy"))
    dials = [at_budget(f"dial {i}", 5.0, 6.0, 5.0, dial=True) for i in range(4)]
    rows = [*dials, at_budget("dqn", *weak)]
    assert "**+" not in rival_table(rival_comparisons(rows, "greedy"))
    cores = [at_budget(f"core of dial {i}", *(weak if i else clear)) for i in range(4)]
    table = core_table(core_comparisons([*dials, *cores], "greedy")).splitlines()[2:]
    assert ["**+" in line for line in table] == [True, False, False, False]


def test_a_difference_without_all_seeds_is_not_bold() -> None:
    dial = at_budget("dial", 5.0, 6.01, 5.0, None, dial=True)
    (line,) = rival_table(
        rival_comparisons([dial, at_budget("dqn", 4.0, 5.0, 4.0, 4.0)], "greedy")
    ).splitlines()[2:]
    assert "| +1.00 [" in line
