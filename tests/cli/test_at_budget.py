from pathlib import Path

from policy_inertia.study.analysis.at_budget import Record, write_records
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
