from pathlib import Path

from tests.cli.conftest import Run

STUDY = """\
title = "A tiny study"
seeds = [0, 1]
steps = 400
eval_every = 400
eval_episodes = 2
final_episodes = 2
settings = {calibration_episodes = 2}
budgets = [1.0]
[methods.sac]
[tasks.CartPole-v1]
"""


def test_study_is_estimated_run_and_compared_at_its_budgets(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(STUDY)
    out = tmp_path / "out"
    words = ("study", tmp_path / "tiny.toml", "--seeds", 1, "--out", out, "--jobs", 1)
    code, text, _ = run(*words, "--dry-run")
    assert code == 0
    assert "1 runs to do" in text
    assert not out.exists()
    code, text, _ = run(*words, "--no-report", "--log", "csv")
    assert code == 0
    assert len(list(out.rglob("metrics.csv"))) == 1
    assert "one seed: no interval" in text
    assert not (out / "report.html").exists()
    code, text, _ = run(*words, "--dry-run")
    assert "0 runs to do" in text
    code, text, _ = run("at-budget", out)
    assert code == 0
    assert "| one action |" in text  # the rival that never switches
    assert (out / "records.csv").exists()


def test_a_study_of_cores_is_shown_from_its_records_without_training(
    run: Run, tmp_path: Path
) -> None:
    records = Path(__file__).parents[2] / "results" / "filters"
    words = ("study", "filters", "--records", records, "--out", tmp_path / "out")
    code, text, _ = run(*words, "--dry-run")
    assert code == 0
    assert "hopper: 0 of 5 seeds to do" in text
    code, text, _ = run("study", "transfer", "--records", tmp_path / "none", "--dry-run")
    assert "dqn-cartpole: 5 of 5 seeds to do" in text
    assert "ppo-signals: 3 of 3 seeds to do" in text
    code, text, _ = run(*words, "--only", "hopper", "--seeds", 2)
    assert code == 0
    assert "| Hopper | 2 |" in text
    assert (tmp_path / "out" / "filters.png").exists()
    code, _, error = run(*words, "--ray")
    assert code == 2
    assert "'filters' does not run on Ray" in error
