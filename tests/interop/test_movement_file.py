"""Logs of continuous actions as text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, measure

ACTIONS = np.random.default_rng(0).uniform(-1, 1, (7, 2)).round(3)
ONE = ACTIONS[:, 0]
EXPECTED = measure(ACTIONS, 0.1).figures


def lines(values: np.ndarray, names: str = "", front: str = "") -> str:
    text = [front + ",".join(map(str, row)) for row in values.tolist()]
    return "\n".join([names, *text] if names else text)


@pytest.mark.parametrize(
    "text",
    [
        lines(ACTIONS),
        lines(ACTIONS, "action_0,action_1"),
        lines(ACTIONS, "action[0],action[1]"),
        lines(ACTIONS, "hip,knee"),
        lines(ACTIONS, "episode,action_0,action_1", "4,"),
        lines(np.insert(ACTIONS, 0, np.arange(7), axis=1), "step,hip,knee"),
        lines(np.insert(ACTIONS, 2, 9.5, axis=1), "a0,a1,reward"),
        lines(ACTIONS).replace(",", "\t"),
    ],
)
def test_table_has_one_row_a_step_and_one_column_a_number(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    measured = measure(path, 0.1)
    assert measured.figures == EXPECTED
    assert "one row a step, one column a number; continuous, over the range" in str(measured.log)
    assert "1 episode of 7 steps, 2 numbers in an action" in str(measured.log)


def test_table_has_several_episodes_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        lines(ACTIONS[:4], "episode,action_0,action_1", "a,") + "\n" + lines(ACTIONS[4:], "", "b,")
    )
    assert measure(path).figures == measure([ACTIONS[:4], ACTIONS[4:]]).figures


def test_column_named_action_may_hold_fractions(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("reward,action\n" + "\n".join(f"{k},{x}" for k, x in enumerate(ONE.tolist())))
    assert measure(path).figures == measure(ONE).figures


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("columns", lines(ACTIONS)),
        ("rows", lines(ACTIONS.T)),
        (None, lines(ACTIONS, "episode_1,episode_2")),
    ],
)
def test_columns_or_rows_may_be_episodes_of_one_number(
    layout: Any, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    assert measure(path, layout=layout).figures == measure(ACTIONS, layout="columns").figures


@pytest.mark.parametrize(
    "values",
    [
        [ACTIONS.tolist()],
        [{"actions": ACTIONS.tolist()}],
        [{"episode": 0, "action": row} for row in ACTIONS.tolist()],
    ],
)
def test_lines_are_episodes_or_steps(values: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, values)))
    assert measure(path, 0.1).figures == EXPECTED


def test_whole_numbers_and_names_are_discrete_unless_bounds_are_given(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("action\n0\n1\n1\n")
    assert measure(path).log.space.finite
    bounded = measure(path, bounds=(0, 2))
    assert bounded.figures["action_fluctuation"] == pytest.approx(0.25)
    path.write_text("action\nv1.5\nleft\n")
    assert measure(path).log.names == ("left", "v1.5")
    with pytest.raises(InputError, match="holds something else than numbers"):
        measure(path, bounds=(0, 2))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("log.csv", "action_0,action_1\n0.1,0.2\n0.3,\n0.1,0.2", "a NaN or an infinite number"),
        ("log.csv", "0.5,inf\n0.2,0.1", "a NaN or an infinite number at step 0 of episode 0"),
        ("log.jsonl", "[[0.1, 0.2], [0.3]]", "has actions of 1 to 2 numbers: every action needs"),
        ("log.jsonl", "[0.1, 0.2]\n[[0.1, 0.2]]", "has actions of 1 to 2 numbers"),
        ("log.jsonl", '[0.1]\n{"action": 0.1}', "line 2 of .* holds a step, and the lines before"),
    ],
)
def test_bad_logs_are_refused_in_one_sentence(
    name: str, text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        measure(path)


def test_actions_outside_the_given_bounds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(lines(ACTIONS))
    with pytest.raises(InputError, match=r"and its bounds are -0\.1 and 0\.1"):
        measure(path, bounds=(-0.1, 0.1))
