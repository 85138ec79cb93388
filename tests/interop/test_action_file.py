"""Logs of actions as other programs write them."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.interop import action_file, action_table
from policy_inertia.interop.action_file import Layout, read_log
from policy_inertia.metrics.action_log import ActionLog


def read(path: Path, content: str | bytes, layout: Layout | None = None) -> ActionLog:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_log(path, layout)


def named(log: ActionLog) -> list[list[str]]:
    """The episodes with the names of their actions."""
    return [[log.names[i] for i in episode] for episode in log.episodes]


STEPS = "one row a step, by the columns episode and action"
COLUMNS = "one column an episode"
COUNTED = f"{COLUMNS} (the first column, which counts the rows, is left out)"


@pytest.mark.parametrize(
    ("text", "layout", "episodes"),
    [
        ("episode,action\n0,1\n0,2\n1,1\n", STEPS, ["12", "1"]),
        ("Episode;t;Action;reward\n0;0;1;.5\n1;0;2;.5\n0;1;1;.5\n", STEPS, ["11", "2"]),
        ("step\taction\n0\t1\n1\t2\n", "one row a step, by the column action", ["12"]),
        ("action\n\n1\n2\n", "one row a step, by the column action", ["12"]),
        ("1,2\n2,2\n1,\n", COLUMNS, ["121", "22"]),
        ("1,2\n2,2\n1\n", COLUMNS, ["121", "22"]),
        ("1,2,\n2,2,\n", COLUMNS, ["12", "22"]),
        ("1\n2\n2\n\n\n", COLUMNS, ["122"]),
        ("\n\n1\n2\n", COLUMNS, ["12"]),
        ("1.0,NaN\r\n2.00,\r\n", COLUMNS, ["12"]),
        ("first,second\n1,2.0\n2,nan\n", COLUMNS, ["12", "2"]),
        ("ep 1,ep 2\nl,r\nr,r\n", COLUMNS, ["lr", "rr"]),
        ("l,r\nr,r\n", COLUMNS, ["lr", "rr"]),
        (",0,1\n0,2,1\n1,1,1\n", COUNTED, ["21", "11"]),  # as pandas writes it
        ("\n".join(f"{i},1" for i in range(12)), COUNTED, ["1" * 12]),
        ("\n".join(f"{i},1" for i in range(4)), COLUMNS, ["0123", "1111"]),  # too short to tell
        ("1,1,2", "one row, which is one episode", ["112"]),
        ("l,r,l\n", "one row, which is one episode", ["lrl"]),
        ("\ufeff1\n2\n", COLUMNS, ["12"]),
        ('"a","b"\n"b","b"\n', COLUMNS, ["ab", "bb"]),
    ],
)
def test_layout_of_a_table_is_detected_and_told(
    text: str, layout: str, episodes: list[str], tmp_path: Path
) -> None:
    log = read(tmp_path / "a.csv", text)
    assert log.layout == layout
    assert ["".join(episode) for episode in named(log)] == episodes


def test_layout_can_be_given(tmp_path: Path) -> None:
    text = "1,2,2\n1,1\n"
    assert named(read(tmp_path / "a.csv", text, "rows")) == [["1", "2", "2"], ["1", "1"]]
    assert len(read(tmp_path / "a.csv", text, "columns").episodes) == 3
    with pytest.raises(InputError, match="name the one that holds the actions `action`"):
        read(tmp_path / "a.csv", text, "steps")
    np.save(tmp_path / "a.npy", np.array([[1, 2, 2], [1, 1, 1]]))
    assert len(read_log(tmp_path / "a.npy").episodes) == 2
    assert len(read_log(tmp_path / "a.npy", "columns").episodes) == 3
    for name in ("a.npy", "a.jsonl"):
        with pytest.raises(InputError, match=r"give rows or columns|leave the layout out"):
            read_log(tmp_path / name, "steps")


@pytest.mark.parametrize(
    ("lines", "layout", "episodes"),
    [
        ([[0, 1], [1]], "one line is an episode", ["01", "1"]),
        ([{"actions": ["l", "r"], "seed": 3}, {"actions": ["r"]}], None, ["lr", "r"]),
        ([{"actions": [[0], [1.0]]}, {"actions": [True, None]}], None, ["01", "1"]),
        ([{"episode": 0, "action": 1}, {"episode": "b", "action": 2}], None, ["1", "2"]),
        ([{"action": 1, "t": 0}, {"action": [2], "t": 1}], "one line is a step", ["12"]),
        ([0, 1, 0], "one line is a step", ["010"]),
        (["a", "b"], "one line is a step", ["ab"]),
    ],
)
def test_lines_of_json_are_episodes_or_steps(
    lines: list[Any], layout: str | None, episodes: list[str], tmp_path: Path
) -> None:
    text = "\n\n".join(map(json.dumps, lines))
    log = read(tmp_path / "a.jsonl", text)
    assert ["".join(episode) for episode in named(log)] == episodes
    assert layout in (None, log.layout)


@pytest.mark.parametrize(
    ("array", "lengths", "layout"),
    [
        (np.array([0, 1, 1]), [3], "one episode"),
        (np.array([[0], [1], [1]]), [3], "one episode"),  # as a batch of one env gives them
        (np.array([[0, 1, 1], [1, 1, 1]]), [3, 3], "one row an episode (shape (2, 3))"),
        (np.array([[0, 1, 1], [1, np.nan, np.nan]]), [3, 1], "one row an episode (shape (2, 3))"),
        (np.zeros((2, 5, 1)), [5, 5], "one row an episode (shape (2, 5, 1))"),
        (np.array([["a", "b"], ["b", "b"]]), [2, 2], "one row an episode (shape (2, 2))"),
        (np.asfortranarray([[0, 1, 1], [1, 1, 1]]), [3, 3], "one row an episode (shape (2, 3))"),
    ],
)
def test_arrays_are_read_by_their_shape(
    array: np.ndarray, lengths: list[int], layout: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "a.npy", array)
    log = read_log(tmp_path / "a.npy")
    assert [len(e) for e in log.episodes] == lengths
    assert log.layout == layout


def saved(array: Any) -> bytes:
    data = io.BytesIO()
    np.save(data, array, allow_pickle=True)
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty: expected a table of actions"),
        ("a.csv", b"\n \n,,\n", "is empty"),
        ("a.csv", b"episode,action\n", "holds no actions"),
        ("a.csv", b"episode,command\n0,1\n", r"has the columns 'episode, command': name the one"),
        ("a.csv", b"episode,action\n0,\n", r"line 2 of .*a\.csv has no action"),
        ("a.csv", b"episode,action\n,1\n", r"line 2 of .*a\.csv has no episode"),
        ("a.csv", b"episode,action\n0\n", "line 2 of .* has no action"),
        ("a.csv", b"0,1\n,1\n1,1\n", "line 3 .* below an empty cell: only the end of a column"),
        ("a.csv", b"0\n1\nnan\n1\n", "line 4 .* below an empty cell"),
        ("a.csv", b"0\n\n1\n", "line 3 .* below an empty cell"),
        ("a.csv", b"one,two\n1,\n2,\n", "holds no actions in episode 1: remove the episode"),
        ("a.csv", b"0.5\n0.25\n", r"the action 0\.5: expected discrete actions"),
        ("a.csv", b"\xff\xfe0\x00\n", "cannot be read as a table of actions .*utf-8"),
        ("a.csv", b"0\n" + b"x" * 101, "expected a number or a shorter name"),
        ("a.csv", b'0\n"1', "cannot be read as a table of actions .unexpected end"),
        ("a.csv", "\n".join(f"n{i}" for i in range(1_002)).encode(), "more than 1,000 different"),
        ("a.jsonl", b"", "holds no actions"),
        ("a.jsonl", b"[0, 1]\n[1", r"line 2 of .*a\.jsonl cannot be read as actions"),
        ("a.jsonl", b"[0, 1]\n0", "line 2 of .* holds a step, and the lines before an episode"),
        ("a.jsonl", b'{"episode": 1}', "is an object with episode: expected action and episode"),
        ("a.jsonl", b'{"episode": [1], "action": 1}', "expected action and episode"),
        ("a.jsonl", b"{}", "is an object with nothing"),
        ("a.jsonl", b"[0, [1, 2]]", r"holds \[1, 2\]: expected an action"),
        ("a.jsonl", b"[0, NaN, 1]", "holds nan at step 1 of episode 0"),
        ("a.npy", b"", "cannot be read as an array of actions"),
        ("a.npy", saved(np.array([{}])), "values of type object"),
        ("a.npy", saved(np.zeros((2, 2, 2))), r"has the shape \(2, 2, 2\): expected one or two"),
        ("a.npy", saved(np.array(1)), r"has the shape \(\): expected one or two"),
        ("a.npy", saved(np.zeros((0, 3))), "holds no actions"),
        ("a.npy", saved(np.zeros(3))[:-1], "bytes for an array of shape"),
        ("a.npy", saved(np.array([0.5])), "the action 0.5"),
        ("a.npz", b"", r"ends in '\.npz': did you mean '\.npy'"),
        ("a", b"", "ends in '': it must end in .csv"),
    ],
)
def test_file_that_cannot_be_read_is_refused_in_one_sentence(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path / name, content)


def test_large_files_are_refused_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_file, "TEXT_LIMIT", 100)
    with pytest.raises(InputError, match="has more than 100 bytes"):
        read(tmp_path / "a.csv", "0\n" * 100)
    monkeypatch.undo()
    monkeypatch.setattr(action_table, "LONGEST_LINE", 100)
    with pytest.raises(InputError, match=r"line 2 of .* has 200 letters, and at most 100 are"):
        read(tmp_path / "a.csv", "0\n" + "0," * 100)
    monkeypatch.undo()
    monkeypatch.setattr(action_table, "MOST_EPISODES", 3)
    with pytest.raises(InputError, match="has more than 3 episodes"):
        read(tmp_path / "a.csv", "0,0,0,0\n")
    with pytest.raises(InputError, match="has more than 3 episodes"):
        read(tmp_path / "a.csv", "0\n" * 4, "rows")


def test_sparse_table_takes_no_more_memory_than_its_cells(tmp_path: Path) -> None:
    """A wide first row and many short ones: nothing is filled up."""
    log = read(tmp_path / "a.csv", "1," * 50_000 + "1\n" + "1\n" * 50_000)
    assert [len(e) for e in log.episodes[:2]] == [50_001, 1]
    assert log.steps == 100_001


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        read_log(tmp_path / "none.csv")
