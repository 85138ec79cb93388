"""Which trackers there are, and what a wrong name or a missing package does."""

import sys
from pathlib import Path

import pytest

from policy_inertia import InputError, train
from policy_inertia.training.trackers.table import TRACKERS, find_trackers


def test_every_run_may_name_the_logs_that_it_has_anyway() -> None:
    assert find_trackers(["jsonl", "tensorboard"]) == []
    assert find_trackers(["csv", "csv"]) == [TRACKERS["csv"]]


def test_unknown_tracker_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^there is no tracker 'mlflw': did you mean 'mlflow'\?$"):
        train("dqn", "CartPole-v1", tmp_path / "run", log=["mlflw"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_missing_package_is_one_sentence_and_leaves_nothing_behind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"^logging to {name} needs .*'policy-inertia\[{name}\]'"):
        train("dqn", "CartPole-v1", tmp_path / "run", log=[name])
    assert not list(tmp_path.iterdir())
