"""How often budgets and limits are kept, from records by hand."""

from policy_inertia.study.analysis.at_budget import Actions, Record
from policy_inertia.study.analysis.kept_budgets import (
    KeptBudgets,
    Violations,
    kept_budgets,
    limit_violations,
)
from policy_inertia.study.report.markdown import budget_page, kept_table, violations_text


def record(
    label: str,
    ratio: float | None,
    chosen_by: str = "",
    violations: float | None = None,
    actions: Actions = "greedy",
) -> Record:
    """A run at the budget 0.1; without a ratio it cannot keep it."""
    figures = {} if ratio is None else {"return": 1.0, "oscillation_ratio": ratio}
    figures |= {} if violations is None else {"violations": violations}
    return Record("T", label, "dqn", 0, 0.1, actions, figures, chosen_by)


RECORDS = [
    record("DQN", 0.1, "upper bound"),
    record("DQN", 0.11, "upper bound"),
    record("DQN", None),
    record("DQN", 0.2, actions="sampled"),
    record("core of dial", 0.05),
    record("DQN, in a bucket", 0.2, "mean", 0),
    record("DQN, tuned in a bucket", 0.2, "upper bound", 2),
    record("DQN, tuned in a bucket", 0.2, "upper bound", 2, "sampled"),
    record("one action", 0.0),
]


def test_cells_above_their_budget_are_counted_by_the_way_to_keep_it() -> None:
    assert kept_budgets(RECORDS) == [
        KeptBudgets("as it is", "upper bound", 2, 1),
        KeptBudgets("core of", "", 1, 0),
        KeptBudgets("in a bucket", "mean", 1, 1),
        KeptBudgets("tuned in a bucket", "upper bound", 1, 1),
    ]
    table = kept_table(RECORDS).splitlines()
    assert "| as it is | upper bound | 2 | 1 (50.0%) |" in table
    assert "| core of | not recorded | 1 | 0 (0.0%) |" in table
    assert kept_table(RECORDS) in budget_page(RECORDS)


def test_violations_are_summed_once_for_each_run_that_counted_them() -> None:
    assert limit_violations(RECORDS) == Violations(2, 2)
    text = "Violations of limits, counted on all final episodes of 2 cells: 2."
    assert violations_text(RECORDS) == text
    assert text in budget_page(RECORDS)
    assert limit_violations(RECORDS[:5]) is None
    assert "Violations" not in budget_page(RECORDS[:5])
