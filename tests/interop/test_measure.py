from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policy_inertia as pi
from tests.support.policies import fresh


@pytest.mark.parametrize(
    ("actions", "episodes"),
    [
        ([0, 1, 1], 1),
        (["left", "right", "right"], 1),
        ((np.int64(0), np.int64(1), np.int64(1)), 1),
        ([[0, 1, 1], [2]], 2),
        (([0, 1, 1] for _ in range(2)), 2),
        ([np.array([0, 1, 1]), [1.0]], 2),
        ([np.array([[0], [1], [1]])], 1),  # as a batch of one env gives them
        (np.array([[0, 1, 1], [1, 1, 1]]), 2),
        (np.array([0, 1, 1]), 1),
    ],
)
def test_actions_are_one_episode_or_one_list_for_each(actions: Any, episodes: int) -> None:
    measured = pi.measure(actions)
    assert len(measured.log.episodes) == episodes
    assert measured.switch_matrix[0, 1] >= 1


def test_file_and_its_content_are_measured_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0,1\n1,1\n0,\n")
    measured = pi.measure(tmp_path / "a.csv", step_time=0.1)
    assert measured.figures == pi.measure([[0, 1, 0], [1, 1]], step_time=0.1).figures
    assert measured.figures == pi.measure(str(tmp_path / "a.csv"), 0.1).figures


def test_episodes_of_an_evaluation_are_measured_as_it_did() -> None:
    evaluation = pi.evaluate(fresh("nsac"), "CartPole-v1", 3)
    figures = pi.measure(evaluation.episodes).figures
    summary = evaluation.summary()
    assert figures == {name: summary[name] for name in figures}


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (3, "actions is 3: give a list of actions"),
        (None, "actions is None"),
        ([], "holds no actions"),
        ([[0, [1]]], "have different shapes"),
        ([[[0, 1], [1, 1]]], r"episode 0 has actions of shape \(2, 2\)"),
        ([0, None], "holds object"),
        ([[0.5, 1]], "the action 0.5"),
    ],
)
def test_other_things_are_refused_in_one_sentence(actions: Any, message: str) -> None:
    with pytest.raises(pi.InputError, match=message):
        pi.measure(actions)


def test_layout_is_for_files_and_arrays() -> None:
    with pytest.raises(pi.InputError, match="it is for files and arrays only"):
        pi.measure([[0, 1]], layout="columns")
    columns = pi.measure(np.array([[0, 1, 1], [1, 1, 1]]), layout="columns")
    assert len(columns.log.episodes) == 3
