import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SHORT_FLAGS, Run
from tests.support.sb3_models import SB3Model


def test_dial_of_a_policy_of_others_is_named_after_its_file(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    words = ("--env", "CartPole-v1", "--episodes", 1, "--out", tmp_path / "dial.svg")
    code, text, _ = run("dial", path, *words)
    assert code == 0
    assert f"hysteresis on {path.name} on CartPole-v1" in text


def test_dial_is_trained_shown_drawn_and_kept_to_a_budget(run: Run, tmp_path: Path) -> None:
    out, few = tmp_path / "d", ("--calibration-episodes", 2, "--learning-starts", 50)
    code, text, _ = run("train", "dial-dqn", "CartPole-v1", *SHORT_FLAGS, *few, "--out", out)
    assert code == 0
    assert text.splitlines().count("calibrating") == 1
    assert re.search(r"[\d.]+, [\d.]+ at price 0; [\d.]+, [\d.]+ at 10% of the largest price", text)
    assert re.search(r"^ *price 0 +[\d.]+", text, re.M)
    assert "sampled" not in text
    assert re.search(r"Best of \d+ calibrated settings, 2 greedy episodes each", text)
    best = max(row["figures"]["return"] for row in calibration(out))
    assert re.search(rf"│ +[\d.e+-]+ │ +{best:.2f} │", text)
    code, text, _ = run("dial", out, "--episodes", 2)
    assert code == 0
    assert "hysteresis on dial-dqn (core)" in text
    assert re.search(r"dial-dqn \((takes any action|repeats or follows its core, )", text)
    assert (out / "dial.png").stat().st_size > 10_000
    words = ("--episodes", 2, "--price", 0.3, "--budget", 1, "--json")
    figures = json.loads(run("evaluate", out, *words).out)
    assert "price 0.3" in figures
    assert any(re.fullmatch(r"budget 1 \(price -?[\d.]+\), greedy", name) for name in figures)
    code, _, text = run("evaluate", out, "--price", "nan")
    assert code == 2
    assert "the price is nan: give a number from -" in text


def calibration(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((out / "result.json").read_text())["calibration"][
        "rows"
    ]
    return rows


def test_method_that_plans_with_limits_shows_what_it_does_without_one_and_its_best_rates(
    run: Run, tmp_path: Path
) -> None:
    few = ("--calibration-episodes", 2, "--learning-starts", 50, "--steps", 200)
    out = tmp_path / "l"
    code, text, _ = run("train", "limit-dqn", "CartPole-v1", *SHORT_FLAGS, *few, "--out", out)
    assert code == 0
    assert re.search(r"[\d.]+, [\d.]+ without a limit; [\d.]+, [\d.]+ at 0.1 switches", text)
    assert re.search(r"^ *no limit +[\d.]+", text, re.M)
    best = max(row["figures"]["return"] for row in calibration(out))
    assert re.search(rf"│ +[\d.e+-]+ │ +{best:.2f} │", text)


@pytest.mark.parametrize(("name", "reason"), [("x.txt", "drawn as .png"), ("", "is a folder")])
def test_picture_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    name: str, reason: str, run: Run, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.calibration.curves.curves", None)
    code, _, text = run("dial", finished, "--out", finished / name)
    assert code == 2
    assert reason in text


def test_policy_without_a_dial_has_the_threshold_of_a_filter(run: Run, finished: Path) -> None:
    picture = finished.parent / "threshold.png"
    code, text, _ = run("dial", finished, "--episodes", 2, "--out", picture)
    assert code == 0
    assert "hysteresis on sac on CartPole-v1, 2 greedy episodes each" in text
    assert picture.exists()
