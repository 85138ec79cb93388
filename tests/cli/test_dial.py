import json
import re
from pathlib import Path

from tests.cli.conftest import SHORT_FLAGS, Run


def test_dial_is_trained_shown_drawn_and_kept_to_a_budget(run: Run, tmp_path: Path) -> None:
    out, few = tmp_path / "d", ("--calibration-episodes", 2, "--learning-starts", 50)
    code, text, _ = run("train", "dial-dqn", "CartPole-v1", *SHORT_FLAGS, *few, "--out", out)
    assert code == 0
    assert re.search(r"dial [\d.]+ / [\d.]+ / [\d.]+", text)
    code, text, _ = run("dial", out, "--episodes", 2)
    assert code == 0
    assert "hysteresis on dial-dqn (core)" in text
    assert re.search(r"dial-dqn \((takes any action|repeats or follows its core, )", text)
    assert (out / "dial.png").stat().st_size > 10_000
    words = ("--episodes", 2, "--price", 0.3, "--budget", 1, "--json")
    figures = json.loads(run("evaluate", out, *words).out)
    assert "price 0.3" in figures
    assert "budget 1 (price 0), greedy" in figures
    code, _, text = run("evaluate", out, "--price", "nan")
    assert code == 2
    assert "the price is nan: give a number from 0 on" in text


def test_policy_without_a_dial_has_the_threshold_of_a_filter(run: Run, finished: Path) -> None:
    picture = finished.parent / "threshold.png"
    code, text, _ = run("dial", finished, "--episodes", 2, "--out", picture)
    assert code == 0
    assert "hysteresis on sac on CartPole-v1, 2 greedy episodes each" in text
    assert picture.exists()
