import json
from pathlib import Path

import numpy as np
import pytest

import policy_inertia as pi
from tests.cli.conftest import Run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "actions.csv"
    path.write_text("episode,action\n0,left\n0,right\n0,left\n1,right\n1,right\n")
    return path


def test_log_is_measured_without_an_env(run: Run, log: Path) -> None:
    code, text, _ = run("measure", log, "--step-time", 0.05)
    assert code == 0
    assert "one row a step, by the columns episode and action: 2 episodes of 2 to 3 steps" in text
    figures = pi.measure(log, 0.05).figures
    assert f"{figures['oscillation_ratio']:.3f}" in text
    assert f"{figures['switches_per_second']:.3f}" in text
    assert "per second" in text
    picture = log.with_name("actions-oscillation.png")
    assert f"Picture: {picture}" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_is_the_summary_and_draws_only_what_is_asked_for(run: Run, log: Path) -> None:
    code, text, _ = run("measure", log, "--json")
    assert code == 0
    assert json.loads(text) == pi.measure(log).summary()
    assert list(log.parent.iterdir()) == [log]
    assert run("measure", log, "--json", "--out", log.parent / "p.svg").code == 0
    assert (log.parent / "p.svg").exists()


def test_layout_is_a_flag(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0,1,1\n1,1,1\n")
    text = run("measure", tmp_path / "a.csv", "--layout", "rows").out
    assert "one row an episode: 2 episodes of 3 steps, 2 different actions" in text


def test_one_of_anything_is_called_so() -> None:
    assert str(pi.measure([[0]]).log).endswith(": 1 episode of 1 step, 1 different action")
    assert str(pi.measure([[0], [0, 1]]).log).endswith(
        "2 episodes of 1 to 2 steps, 2 different actions"
    )


def test_many_actions_are_left_to_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n".join(map(str, range(20))))
    assert (
        "--json prints the table of switches between the 20 actions"
        in run("measure", tmp_path / "a.csv").out
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--step-time", 0), "the step time is 0.0"),
        (("--out", "x.txt"), "a picture is drawn as .png"),
        (("--out", "/proc/x/y.png"), "cannot write"),
    ],
)
def test_wrong_flag_is_one_sentence(
    words: tuple[object, ...], sentence: str, run: Run, log: Path
) -> None:
    code, _, text = run("measure", log, *words)
    assert code == 2
    assert sentence in text
    assert text.count("\n") == 1


def test_continuous_actions_are_measured_and_drawn(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.tile([[-0.5, 0.0], [0.5, 0.0]], (30, 1)))
    code, text, _ = run("measure", tmp_path / "a.npy", "--low", -1, "--high", 1)
    assert code == 0
    assert "continuous: 1 episode of 60 steps, 2 numbers in an action" in text
    assert "Action fluctuation of each number" in text
    assert "0.2500" in text
    assert (tmp_path / "a-oscillation.png").read_bytes().startswith(b"\x89PNG")
    assert "give --low and --high together" in run("measure", tmp_path / "a.npy", "--low", 0).err
