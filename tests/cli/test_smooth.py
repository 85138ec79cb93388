from pathlib import Path

from tests.cli.conftest import Run


def test_filter_is_recommended_without_training(run: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "smooth"
    words = ("--hysteresis-only", "--episodes", 4, "--budget", 0.9, "--out", out)
    code, text, _ = run("smooth", finished, "CartPole-v1", *words)
    assert code == 0
    assert "Recommended: " in text
    assert (out / "recommended.safetensors").exists()
