from pathlib import Path

from tests.cli.conftest import Run


def test_planner_prints_a_row_for_each_budget_and_writes_its_episodes(
    run: Run, tmp_path: Path
) -> None:
    words = ("planner", "TwoWay", "--seeds", 2, "--beam", 4, "--widest", 8, "--budgets", 0.2)
    more = ("--env-kwargs", "config.duration=4", "--out", tmp_path / "edge.json")
    code, text, _ = run(*words, *more)
    assert code == 0
    assert "no limit" in text
    assert "An estimate from below." in text
    assert (tmp_path / "edge.json").exists()


def test_planner_refuses_a_task_that_cannot_be_copied_in_a_sentence(run: Run) -> None:
    code, _, error = run("planner", "CartPole-v1")
    assert code == 2
    assert "cannot be copied" in error


def test_planner_keeps_a_limit_and_says_so(run: Run, tmp_path: Path) -> None:
    words = ("planner", "TwoWay", "--limit", 0.1, "--burst", 2, "--seeds", 1, "--beam", 4)
    more = ("--widest", 8, "--env-kwargs", "config.duration=4", "--out", tmp_path / "edge.json")
    code, text, _ = run(*words, *more)
    assert code == 0
    assert "a planner that knows the future" in text
    assert "0.1 per step, burst 2" in text
    assert "An estimate from below." in text
    assert "at most 2 + 0.1 n switches in every n steps" in " ".join(text.split())
    assert '"rate": 0.1' in (tmp_path / "edge.json").read_text()


def test_planner_refuses_a_burst_without_a_limit(run: Run) -> None:
    code, _, error = run("planner", "TwoWay", "--burst", 2)
    assert code == 2
    assert "--burst 2 belongs to a limit" in error
