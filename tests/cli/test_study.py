from pathlib import Path

from tests.cli.conftest import Run

STUDY = """\
title = "A tiny study"
seeds = [0, 1]
steps = 400
eval_every = 400
eval_episodes = 2
final_episodes = 2
[methods.sac]
[tasks.CartPole-v1]
"""


def test_study_is_estimated_and_then_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(STUDY)
    words = ("study", tmp_path / "tiny.toml", "--seeds", 1, "--out", tmp_path / "out")
    code, text, _ = run(*words, "--dry-run", "--jobs", 1)
    assert code == 0
    assert "1 runs to do" in text
    assert not (tmp_path / "out").exists()
    code, text, _ = run(*words, "--jobs", 1, "--no-report")
    assert code == 0
    assert "one seed: no interval" in text
    assert not (tmp_path / "out" / "report.html").exists()
