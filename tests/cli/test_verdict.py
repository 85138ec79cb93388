from pathlib import Path

from tests.cli.conftest import Run


def test_verdict_makes_the_page_from_a_folder_without_records(run: Run, tmp_path: Path) -> None:
    code, text, _ = run("verdict", "--records", tmp_path, "--out", tmp_path / "docs")
    assert code == 0
    assert "not run (0 of 40 records)" in text
    assert (tmp_path / "docs" / "paper.md").exists()
    assert (tmp_path / "docs" / "images" / "paper-ties.png").exists()


def test_verdict_makes_the_page_of_another_study_and_leaves_the_overview_alone(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "results.md").write_text("nothing here")
    code, text, _ = run("verdict", "minatar", "--records", tmp_path, "--out", tmp_path)
    assert code == 0
    assert "not run (0 of 30 records)" in text
    assert (tmp_path / "minatar.md").exists()
    assert (tmp_path / "results.md").read_text() == "nothing here"


def test_verdict_refuses_a_study_without_claims(run: Run) -> None:
    code, _, error = run("verdict", "minatr")
    assert code == 2
    assert "'minatr' is no study with claims" in error
    assert "minatar" in error.split("claims")[1]


def test_verdict_refuses_an_overview_without_a_place_for_the_table(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "results.md").write_text("nothing here")
    code, _, error = run("verdict", "--records", tmp_path, "--out", tmp_path)
    assert code == 2
    assert "results.md has no place for the table" in error


def test_verdict_refuses_a_folder_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    code, _, error = run("verdict", "--records", tmp_path / "none", "--out", tmp_path / "docs")
    assert code == 2
    assert "there is no folder" in error
    assert not (tmp_path / "docs").exists()
