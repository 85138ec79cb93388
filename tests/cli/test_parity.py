from tests.cli.conftest import Run


def test_differences_from_highway_env_are_reported(run: Run) -> None:
    code, text, _ = run("parity", "Merge", "--seeds", 1, "--steps", 3)
    assert code == 0
    assert "Merge: 1 seeds, 3 steps" in text
    assert "0 flags differ" in text
