"""policy-inertia tune: a tuner of real runs, and the command that it prints."""

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytest.importorskip("optuna")

FLAGS = ("--preset", "paper", "--steps", 64, "--seed", 3)
SET = ("--set", "eval_every=32", "eval_episodes=1", "final_episodes=1", "learning_starts=16")


def test_printed_command_trains_the_best_policy_again(run: Run, tmp_path: Path) -> None:
    words = ("tune", "dqn", "CartPole-v1", *FLAGS, *SET, "--out", tmp_path / "tuner")
    code, text, _ = run(*words, "--trials", 1)
    assert code == 0
    assert "trial 0 of 1: complete with " in text
    (line,) = (line for line in text.splitlines() if line.startswith("  policy-inertia train "))
    code, _, _ = run(*shlex.split(line)[1:], "--out", tmp_path / "again")
    assert code == 0
    again, best = (tmp_path / x / "policy.safetensors" for x in ("again", "tuner/trial-000"))
    assert again.read_bytes() == best.read_bytes()
    code, text, _ = run(*words, "--trials", 1)  # all is done: the same answer at once
    assert code == 0
    assert line in text.splitlines()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("tune nsca CartPole-v1", "did you mean 'nsac'"),
        ("tune dqn CartPole-v2", "did you mean 'CartPole-v1'"),
        ("tune dqn CartPole-v1 --trials 0", "trials is 0"),
        ("tune dqn CartPole-v1 --set stepz=3", "'stepz' is no setting"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    run: Run, words: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, text = run(*words.split())
    assert code == 2
    assert sentence in text
    assert text.count("\n") == 1
    assert not list(tmp_path.iterdir())
