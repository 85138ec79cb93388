"""The controller against hysteresis, compared with numbers worked out by hand."""

import pytest

from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.study.analysis.transfer_losses import transfer_losses
from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.report.transfer_page import answer, core_table, loss_table, transfer_page
from tests.support.core_records import core_record, switched


def records(recommended: str, *controller: float) -> list[CoreRecord]:
    """Old records: cores gain 100, hysteresis loses 20, the controller returns what is given."""
    return [
        core_record(
            seed,
            150.0,
            50.0,
            budgets={"0.5": 0.22},
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
    assert row.within_budget == {"hysteresis": 0, "controller": 3}
    assert "| 0 and 3 of 3 | the same budget |" in loss_table([row])


def matched_record(seed: int, level: float = 0.25, ratio: float = 0.2) -> CoreRecord:
    """A core that gains 100; what is lost at the level differs from what the chosen ones lose."""
    return core_record(
        seed,
        150.0,
        50.0,
        budgets={"0.5": 0.25},
        policies={
            "0.5": {
                "level": level,
                "hysteresis": switched(100.0, 0.1, at_level=140.0),
                "controller": switched(145.0, ratio, at_level=143.0 + seed),
                "recommended": "controller",
            }
        },
    )


def test_the_controller_is_compared_with_hysteresis_at_matched_oscillation() -> None:
    cells = {"DQN": [matched_record(0), matched_record(1, level=0.27, ratio=0.26)]}
    (row,) = rows = transfer_losses(cells)
    assert row.levels == [0.25, 0.27]
    assert row.losses["hysteresis"] == pytest.approx([0.1, 0.1])
    assert row.losses["controller"] == pytest.approx([0.07, 0.06])
    assert row.differences == pytest.approx([-0.03, -0.04])
    assert row.upper == pytest.approx(upper_bound([-0.03, -0.04]))
    assert row.oscillation == {"hysteresis": [0.1, 0.1], "controller": [0.2, 0.26]}
    assert row.within_budget == {"hysteresis": 2, "controller": 1}
    assert row.recommended == pytest.approx([0.05, 0.05])  # of the chosen setting
    assert "| 2 and 1 of 2 | oscillation 0.260 |" in loss_table(rows)
    assert "at matched oscillation in 1 rows, and at the same budget in 0" in answer(rows)
    assert "kept the budget in 2 of 2 cases, and the controller in 1." in answer(rows)


def test_one_old_record_has_the_whole_row_compared_at_the_same_budget() -> None:
    cells = {"DQN": [matched_record(0), *records("core", 148.0)]}
    (row,) = transfer_losses(cells)
    assert row.levels == []
    assert row.losses["hysteresis"] == pytest.approx([0.5, 0.2])
    assert row.losses["controller"] == pytest.approx([0.05, 0.02])
    assert row.recommended == pytest.approx([0.05, 0.0])


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
