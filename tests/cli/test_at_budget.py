from pathlib import Path

from policy_inertia.study.analysis.at_budget import Record, write_records
from policy_inertia.study.report.control_page import BEGIN, END
from policy_inertia.study.report.markdown import budget_page
from tests.cli.conftest import Run


def record(method: str, seed: int, return_: float) -> Record:
    figures = {"calibrated_return": 0.0, "return": return_, "crash_rate": 0.1}
    return Record("Two-Way", method, method, seed, 0.1, "greedy", figures)


def test_tables_are_printed_from_stored_records(run: Run, tmp_path: Path) -> None:
    records = [record("dial-dqn", seed, 5.0 + seed) for seed in range(2)]
    records += [record("dqn", seed, 4.0) for seed in range(2)]
    write_records(tmp_path / "records.csv", records)
    code, text, _ = run("at-budget", tmp_path / "records.csv")
    assert code == 0
    assert text == budget_page(records) + "\n"
    assert "| dial-dqn | 5.5 ± 6.4 / 0.10 ± 0.00 |" in text


def test_page_of_control_is_written_without_a_record(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    code, _, _ = run("at-budget", tmp_path / "control", "--page", page)
    assert code == 0
    assert page.read_text() == f"{BEGIN}\n\n**Not run (0 of 275 records).**\n\n{END}\n"


def test_folder_of_records_without_any_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "limit").mkdir()
    code, _, error = run("at-budget", tmp_path / "limit")
    assert code == 2
    assert "has no run that was held to a budget" in error
