"""The page of the study of control."""

import pytest

from policy_inertia.errors import InputError
from policy_inertia.study.plan import Experiment, Line, Study, Task
from policy_inertia.study.report.control_page import BEGIN, END, control_tables, with_tables
from tests.study.analysis.test_equal_return import PLAIN, held

TASK = Task("T", "Pendulum-v1")
LINES = (Line("SAC", "sac", TASK), Line("dial", "dial-sac", TASK))
STUDY = Study("control", "Control", (Experiment("t", "T", LINES),), seeds=(0, 1, 2, 3))


def test_tables_stand_between_the_marks_and_replace_the_old_ones() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = with_tables(page, "new")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert with_tables(once, "new") == once
    with pytest.raises(InputError, match="no place for the tables"):
        with_tables("a page", "new")


def test_tables_have_the_calmest_policy_the_returns_and_the_differences() -> None:
    records = [
        *PLAIN,
        *held("dial", 1.0, [100, 111, 91], "dial-sac"),
        *held("dial", 0.1, [99, 109, 89], "dial-sac"),
        *held("SAC", 0.1, [50, 61, 39]),
    ]
    text = control_tables(STUDY, records)
    assert text.startswith("**6 of 8 runs have a record**: T 6 of 8.\n\n## The least movement")
    assert "| T | dial | 0.1 | 0.1000 ± 0.0000 | 1.0% ± 0.0% |" in text
    assert "| T | SAC | 1 |" in text
    assert "|  | fluctuation ≤ 0.1 | fluctuation ≤ 1 |".replace("|  |", "| |") in text
    assert "| return of 'dial' minus | fluctuation ≤ 0.1 | fluctuation ≤ 1 |" in text
    (difference,) = [x for x in text.splitlines() if x.startswith("| SAC | **+")]
    assert "+49.00" in difference


def test_tables_without_a_record_are_a_sentence() -> None:
    assert control_tables(STUDY, []) == "**Not run (0 of 8 records).**"
