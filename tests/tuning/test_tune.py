"""A tuner: what it searches, ends early and reports, and how it goes on after a stop."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import policy_inertia as pi
from policy_inertia.errors import InputError, Stopped
from policy_inertia.tuning.search_spaces import Choice, Range
from policy_inertia.tuning.tune import Tuned, tune
from tests.tuning.conftest import SPACE, Training, height

pytest.importorskip("optuna")

TINY: dict[str, Any] = {
    "preset": "paper",  # small networks
    "steps": 64,
    "eval_every": 16,
    "eval_episodes": 1,
    "final_episodes": 1,
    "learning_starts": 16,
    "checkpoint_seconds": 0,
}


def search(out: Path, trials: int = 9, **changes: Any) -> Tuned:
    """Tune DQN where the training takes no time."""
    settings = {"steps": 1_000, "eval_every": 250, **changes}
    return tune("dqn", "CartPole-v1", trials, out=out, space=SPACE, **settings)


def rates(tuned: Tuned) -> list[float]:
    return [trial.settings["learning_rate"] for trial in tuned.trials]


def test_the_first_trial_is_the_preset_and_the_best_is_near_the_top(
    training: Training, tmp_path: Path
) -> None:
    tuned = search(tmp_path / "t", 14)
    assert rates(tuned)[0] == pi.settings("dqn", "CartPole-v1").config.learning_rate  # type: ignore[attr-defined]
    assert len(set(rates(tuned))) == 14
    assert tuned.best.value == max(t.value for t in tuned.trials if t.value is not None)
    assert tuned.best.value == height(tuned.config.config.learning_rate) > 95  # type: ignore[attr-defined]
    assert training.trained == [(t.folder.name, t.settings["learning_rate"]) for t in tuned.trials]


def test_trials_below_the_median_are_ended_early(training: Training, tmp_path: Path) -> None:
    steps: dict[str, int] = {}
    training.stop = steps.__setitem__
    tuned = search(tmp_path / "t", 14)
    ended = {t.state for t in tuned.trials}
    assert ended == {"complete", "pruned"}
    for trial in tuned.trials:
        assert (steps[trial.folder.name] == 1_000) == (trial.state == "complete")
        assert (trial.value is None) == (trial.state == "pruned")
    assert min(steps.values()) >= 200  # not in the first fifth


def test_oscillation_has_its_cost(training: Training, tmp_path: Path) -> None:
    tuned = search(tmp_path / "t", 1, oscillation_cost=10.0)
    assert tuned.best.value == height(rates(tuned)[0]) - 10.0 * 0.5


def test_stopped_tuner_goes_on_as_if_it_had_not_been(training: Training, tmp_path: Path) -> None:
    whole = search(tmp_path / "whole")

    def stop(folder: str, step: int) -> None:
        if (folder, step) in moments:
            moments.remove((folder, step))
            raise Stopped(signal.SIGTERM)

    moments = [("trial-003", 500), ("trial-007", 0)]
    training.stop = stop
    with pytest.raises(Stopped, match="stopped in trial 3, which is saved; the same command goes"):
        search(tmp_path / "parts")
    with pytest.raises(Stopped, match="trial 7"):
        search(tmp_path / "parts")
    parts = search(tmp_path / "parts")
    assert rates(parts) == rates(whole)
    assert [t.value for t in parts.trials] == [t.value for t in whole.trials]
    assert [t.state for t in parts.trials] == [t.state for t in whole.trials]
    assert [t.folder.name for t in parts.trials] == [t.folder.name for t in whole.trials]


def test_more_trials_go_on_with_those_that_are_there(training: Training, tmp_path: Path) -> None:
    few = search(tmp_path / "t", 4)
    more = search(tmp_path / "t", 6)
    assert more.trials[:4] == few.trials
    assert len(training.trained) == 6
    again = search(tmp_path / "t", 4)
    assert len(training.trained) == 6
    assert again == more


def test_diverged_trial_is_failed_and_not_repeated(training: Training, tmp_path: Path) -> None:
    training.diverges = 5e-3
    tuned = search(tmp_path / "t")
    failed = [t for t in tuned.trials if t.state == "failed"]
    assert failed
    assert len(training.trained) == 9


def test_no_trial_that_ran_to_its_end_is_one_sentence(training: Training, tmp_path: Path) -> None:
    training.diverges = 0.0
    with pytest.raises(InputError, match=r"^none of the 3 trials in .* ran to its end"):
        search(tmp_path / "t", 3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 1}, r"was started with config.seed=0, not 1"),
        ({"oscillation_cost": 1.0}, "was started with oscillation_cost=0.0"),
        ({"envs": 4}, "was started with config.envs=8"),
    ],
)
def test_folder_of_another_tuner_is_refused(
    changes: dict[str, Any], sentence: str, training: Training, tmp_path: Path
) -> None:
    search(tmp_path / "t", 1)
    with pytest.raises(InputError, match=sentence):
        search(tmp_path / "t", 1, **changes)
    assert len(training.trained) == 1


@pytest.mark.parametrize("damage", ["words", "cut", "zeros", "page", "other"])
def test_damaged_database_is_one_sentence_and_nothing_is_lost(
    damage: str, training: Training, tmp_path: Path
) -> None:
    search(tmp_path / "t", 3)
    path = tmp_path / "t" / "trials.db"
    whole = path.read_bytes()
    damaged = {
        "words": b"no database",
        "cut": whole[: len(whole) // 2],
        "zeros": bytes(len(whole)),
        "page": whole[:4096] + bytes(8192) + whole[12288:],
    }.get(damage)
    if damaged is None:
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("create table studies (id int)")
        other.close()
        damaged = path.read_bytes()
    path.write_bytes(damaged)
    with pytest.raises(InputError) as error:
        search(tmp_path / "t", 3)
    sentence = str(error.value)
    assert sentence.startswith(f"{path} is no whole database of a tuner (")
    assert "\n" not in sentence
    assert path.read_bytes() == damaged
    path.unlink()
    assert len(search(tmp_path / "t", 3).trials) == 3
    assert len(training.trained) == 3  # the trials that had ended are not trained again


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"trials": 0}, "trials is 0: a tuner needs at least 1"),
        ({"space": {"learning_rat": Range(0.1, 1)}}, "did you mean 'learning_rate'"),
        ({"space": {"core.hidden": Choice((1,))}}, "dqn has no setting 'core.hidden'"),
        ({"steps": 0}, "steps is 0"),
    ],
)
def test_wrong_argument_is_one_sentence_and_leaves_nothing_behind(
    arguments: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=sentence):
        tune("dqn", "CartPole-v1", **{"trials": 1, "out": tmp_path / "t", **arguments})
    assert not list(tmp_path.iterdir())


def test_missing_optuna_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'policy-inertia\[tune\]'$"):
        tune("dqn", "CartPole-v1", 1, out=tmp_path / "t")
    assert not list(tmp_path.iterdir())


# Kills its own process in the middle of the second trial, if it is told to.
KILLED = """
import os, signal, sys
from pathlib import Path
from policy_inertia.tuning.search_spaces import Range
from policy_inertia.tuning.tune import tune
from tests.tuning.test_tune import TINY
out = Path(sys.argv[1])
def progress(step, figures, speed):
    if step >= 48 and (out / "trial-001").exists():
        os.kill(os.getpid(), signal.SIGKILL)
space = {"learning_rate": Range(1e-4, 1e-1, log=True)}
tune("dqn", "CartPole-v1", 2, out=out, space=space, progress=progress, **TINY)
"""


def test_killed_tuner_goes_on_with_the_trial_that_was_under_way(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "parts"], capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (tmp_path / "parts" / "trial-001" / "latest.json").exists()
    arguments: dict[str, Any] = {"space": SPACE, **TINY}
    parts = tune("dqn", "CartPole-v1", 2, out=tmp_path / "parts", **arguments)
    whole = tune("dqn", "CartPole-v1", 2, out=tmp_path / "whole", **arguments)
    assert [t.settings for t in parts.trials] == [t.settings for t in whole.trials]
    for name in ("metrics.jsonl", "policy.safetensors", "result.json"):
        a, b = (os.path.join(tmp_path, x, "trial-001", name) for x in ("parts", "whole"))
        assert Path(a).read_bytes() == Path(b).read_bytes()
    assert not (tmp_path / "parts" / "trial-001" / "latest.json").exists()
