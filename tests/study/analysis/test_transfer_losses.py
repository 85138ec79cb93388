"""The controller against hysteresis, compared with numbers worked out by hand."""

import pytest

from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.study.analysis.transfer_losses import transfer_losses
from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.report.transfer_page import answer, core_table, loss_table, transfer_page
from tests.support.core_records import core_record, switched


def records(recommended: str, *controller: float) -> list[CoreRecord]:
    """Cores that gain 100; hysteresis loses 20, the controller returns what is given."""
    return [
        core_record(
            seed,
            150.0,
            50.0,
            policies={
                "0.5": {
                    "hysteresis": switched(130.0, 0.25),
                    "controller": switched(return_, 0.2),
                    "recommended": recommended,
                }
            },
        )
        for seed, return_ in enumerate(controller)
    ]


def test_the_controller_is_compared_with_hysteresis_at_the_same_budget() -> None:
    (row,) = transfer_losses({"DQN": records("controller", 148.0, 150.0, 144.0)})
    assert row.losses["hysteresis"] == pytest.approx([0.2, 0.2, 0.2])
    assert row.losses["controller"] == pytest.approx([0.02, 0.0, 0.06])
    assert row.differences == pytest.approx([-0.18, -0.2, -0.14])
    assert row.upper == pytest.approx(upper_bound([-0.18, -0.2, -0.14]))
    assert row.recommended == pytest.approx([0.02, 0.0, 0.06])
    assert row.misses == 1
    assert row.resolved


def test_the_p_values_are_corrected_for_all_rows() -> None:
    one = records("core", 131.0, 135.0, 132.0)
    (alone,) = transfer_losses({"a": one})
    both = transfer_losses({"a": one, "b": one})
    assert alone.p is not None
    assert [row.p for row in both] == pytest.approx([2 * alone.p, 2 * alone.p])
    assert alone.misses == 0  # the core loses nothing


def test_the_page_has_every_core_and_says_which_aims_are_met() -> None:
    cells = {
        "DQN": records("controller", 148.0, 150.0, 146.0),
        "PPO": records("hysteresis", 120.0, 110.0, 131.0),
        "useless": [core_record(0, 10.0, 20.0)],
    }
    rows = transfer_losses(cells)
    assert [row.cell for row in rows] == ["DQN", "PPO"]
    page = transfer_page(cells)
    assert core_table(cells) in page
    assert "| useless | 1 | 10.0 | 0.500 | 20.0 | 1 |" in page
    assert loss_table(rows) in page
    assert "in 1 of 2 rows" in answer(rows)
    assert "resolved to be better in 1." in answer(rows)
    assert "in 3 of 6 verdicts" in answer(rows)
