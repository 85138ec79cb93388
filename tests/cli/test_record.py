from pathlib import Path

from PIL import Image

from tests.cli.conftest import Run
from tests.support.sb3_models import SB3Model


def test_episodes_are_recorded_beside_the_policy(run: Run, nested_run: Path) -> None:
    words = ("--episodes", 2, "--steps", 9, "--greedy", "--hysteresis", 0.1)
    code, text, _ = run("record", nested_run, *words)
    assert code == 0
    assert "episode 1: return 9.0" in text or "episode 1: return 8.0" in text
    with Image.open(nested_run / "recording.gif") as gif:
        assert gif.size == (480, 320 + 112)


def test_policy_of_stable_baselines_is_recorded(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    words = ("--env", "CartPole-v1", "--steps", 3, "--greedy", "--out", tmp_path / "r.gif")
    code, text, _ = run("record", path, *words)
    assert code == 0
    assert "episode 0: return 3.0" in text
    assert (tmp_path / "r.gif").exists()


def test_episodes_are_recorded_within_a_limit(run: Run, nested_run: Path, tmp_path: Path) -> None:
    words = ("--steps", 9, "--limit", 0, "--burst", 2, "--out", tmp_path / "limited.gif")
    code, text, _ = run("record", nested_run, *words)
    assert code == 0
    switches = int(text.split(" switches")[0].split()[-1])
    assert switches <= 2


def test_a_policy_of_the_package_is_filmed_within_a_budget_beside_another(
    run: Run, tmp_path: Path
) -> None:
    words = (
        "--budget",
        0.15,
        "--beside",
        "two-way-dqn",
        "--greedy",
        "--out",
        tmp_path / "film.gif",
    )
    code, text, _ = run("record", "two-way", *words)
    assert code == 0
    before, after = (int(line.split(" switches")[0].split()[-1]) for line in text.splitlines()[:2])
    assert text.startswith("two-way-dqn, episode 0: return")
    assert after < before
