from pathlib import Path

from policy_inertia import Limit, Policy
from tests.cli.conftest import Run
from tests.support.sb3_models import SB3Model


def test_filter_is_recommended_without_training(run: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "smooth"
    words = ("--hysteresis-only", "--episodes", 4, "--budget", 0.9, "--out", out)
    code, text, _ = run("smooth", finished, "CartPole-v1", *words)
    assert code == 0
    assert "Recommended: " in text
    assert (out / "recommended.safetensors").exists()


def test_zip_is_made_smooth_and_other_commands_take_the_result(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    out = tmp_path / "run"
    words = ("smooth", path, "CartPole-v1", "--out", out, "--episodes", 10)
    short = ("--steps", 800, "--budget", 0.3, "--set", "calibration_episodes=4", "eval_every=400")
    code, text, _ = run(*words, *short)
    assert code == 0
    assert "over 10 held-out episodes of CartPole-v1" in text
    assert "controller" in text
    policy = out / "recommended.safetensors"
    assert run("evaluate", policy, "--episodes", 2).code == 0
    assert run("export", policy).code == 0
    assert (out / "recommended.onnx").exists()
    code, _, error = run(*words)
    assert code == 2
    assert "--resume" in error


def test_limit_is_kept_by_the_recommended_policy(run: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "smooth"
    words = ("--hysteresis-only", "--episodes", 4, "--limit", 0.1, "--burst", 2, "--out", out)
    code, text, _ = run("smooth", finished, "CartPole-v1", *words)
    assert code == 0
    assert "at most 2 + 0.1 n switches in n steps, always" in text
    assert Policy.load(out / "recommended.safetensors").limit == Limit(0.1, 2)
    code, _, text = run("smooth", finished, "CartPole-v1", "--limit", 0.1, "--budget", 0.2)
    assert code == 2
    assert "give a budget, which is a measured mean, or a limit" in text
