from pathlib import Path

import pytest

from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.declared.continuous_filters import STUDY
from policy_inertia.study.report.core_page import core_page, write_picture
from policy_inertia.study.report.filter_page import filter_panels
from tests.support.core_records import core_record, moved


def records() -> dict[str, list[CoreRecord]]:
    """Three seeds of two tasks; one seed does not reach the lower budget."""
    return {
        title: [
            core_record(
                seed,
                100.0,
                0.0,
                filters={
                    "exponential": {"0.5": moved(90.0 + seed, 0.1), "0.1": moved(50.0, 0.02)},
                    "rate limit": {
                        "0.5": moved(80.0 - seed, 0.08),
                        "0.1": {"unreachable": "too low"} if seed == 2 else moved(20.0, 0.02),
                    },
                },
            )
            for seed in range(3)
        ]
        for title in ("Pendulum", "Hopper")
    }


def test_the_tables_show_the_cores_the_best_filters_and_every_filter() -> None:
    page = core_page(STUDY, records())
    assert "| Pendulum | 3 | 100.00 ± 0.00 | 0.2000 ± 0.0000 |" in page
    assert "| Hopper | 0.5 | exponential | 9.0% ± 2.5% | rate limit | **+12.0%" in page
    assert "| rate limit | 21.0% ± 2.5% | 80.0% ± 0.0% (2 of 3) |" in page
    assert "| exponential | 0.50 / 0.25 | 0.10 / 0.05 |" in page
    assert page.count("loss of return") == 2


def test_the_picture_has_a_panel_for_each_task_and_the_same_colour_for_a_filter(
    tmp_path: Path,
) -> None:
    first, second = filter_panels(records())
    assert first.x_label.startswith("Pendulum")
    colours = {line.label: line.colour for line in first.lines}
    assert colours == {line.label: line.colour for line in second.lines}
    lines = {line.label: line for line in first.lines}
    assert lines["exponential"].x == pytest.approx([1.0, 0.5, 0.1])
    assert lines["exponential"].y == pytest.approx([1.0, 0.91, 0.5])
    assert lines["exponential"].low[1] < 0.91 < lines["exponential"].high[1]
    assert lines["rate limit"].x == pytest.approx([1.0, 0.4])  # one seed does not get further
    picture = write_picture(STUDY, records(), tmp_path)
    assert picture is not None
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_cores_without_a_gain_leave_nothing_to_draw(tmp_path: Path) -> None:
    useless = {"Hopper": [core_record(0, 1.0, 2.0, filters={})]}
    assert write_picture(STUDY, useless, tmp_path) is None
    assert "| Hopper | 1 |" in core_page(STUDY, useless)
