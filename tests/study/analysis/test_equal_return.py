"""The least movement at an equal return, from records by hand."""

from collections.abc import Sequence

import pytest

from policy_inertia.study.analysis.at_budget import Record, at_budgets
from policy_inertia.study.analysis.equal_return import Calmest, calmest


def held(
    label: str, budget: float, returns: Sequence[float | None], method: str = ""
) -> list[Record]:
    """A record for each seed that moves by the budget; None is a seed that cannot keep it."""
    return [
        Record(
            "T",
            label,
            method or label,
            seed,
            budget,
            "greedy",
            {}
            if value is None
            else {"return": value, "action_fluctuation": budget, "calibrated_return": value},
        )
        for seed, value in enumerate(returns)
    ]


PLAIN = [*held("SAC", 1.0, [100, 110, 90]), *held("random actions", 1.0, [0, 0, 0])]


def of(name: str, *records: Record) -> Calmest:
    rows = calmest(at_budgets([*PLAIN, *records]), "SAC", "random actions")
    (row,) = [row for row in rows if row.name == name]
    return row


def test_smallest_budget_without_a_loss_counts() -> None:
    dial = of(
        "dial",
        *held("dial", 1.0, [100, 110, 90], "dial-sac"),
        *held("dial", 0.1, [99, 109, 89], "dial-sac"),  # 1% of what SAC gains, at every seed
        *held("dial", 0.05, [90, 100, 80], "dial-sac"),  # 10%
    )
    assert dial.dial
    assert dial.budget == 0.1
    assert dial.loss is not None
    assert dial.loss.value == pytest.approx(0.01)
    assert dial.fluctuation is not None
    assert dial.fluctuation.value == pytest.approx(0.1)


def test_uncertain_loss_is_a_loss() -> None:
    noisy = of("CAPS", *held("CAPS", 0.1, [110, 100, 90]))  # no loss on average, but who knows
    assert noisy.budget is None
    assert noisy.fluctuation is None


def test_budget_that_a_seed_cannot_keep_does_not_count() -> None:
    row = of("ASAP", *held("ASAP", 0.1, [100, None, 90]), *held("ASAP", 0.2, [100, 110, 90]))
    assert row.budget == 0.2


def test_reference_is_compared_with_itself_and_random_actions_are_not() -> None:
    rows = calmest(at_budgets(PLAIN), "SAC", "random actions")
    assert [(row.name, row.budget) for row in rows] == [("SAC", 1.0)]
    assert calmest(at_budgets(held("SAC", 1.0, [1.0])), "SAC", "random actions") == []


def test_reference_that_is_worse_than_random_is_no_reference() -> None:
    worse = [*held("SAC", 1.0, [0, 1]), *held("random actions", 1.0, [5, 6])]
    assert calmest(at_budgets(worse), "SAC", "random actions") == []
