"""Tables of costs in files: what is read, and what is refused in one sentence."""

import os
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.actions.cost_file import LARGEST, read_costs

TABLE = ((0.0, 1.0, 2.5), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0))
TEXTS = {
    "c.csv": "0,1,2.5\n1,0,1\n2, 1,0\n",
    "c.json": "[[0, 1, 2.5], [1, 0, 1], [2, 1, 0]]",
    "c.toml": "costs = [[0, 1, 2.5], [1, 0, 1], [2, 1, 0]]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_kind_of_file_gives_the_same_table(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    assert read_costs(tmp_path / name) == TABLE


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("c.csv", "a,b\n0,1\n", "cannot be read as a table of numbers in CSV"),
        ("c.csv", "", "has 0 rows"),
        ("c.csv", "0,1\n1", "row 1 of the costs has 1 numbers: give a square table"),
        ("c.csv", "0,nan\n1,0", "finite numbers from 0 on"),
        ("c.csv", "0,1e999\n1,0", "finite numbers from 0 on"),
        ("c.csv", "1,1\n1,0", "0 on the diagonal"),
        ("c.csv", "0\n" * 2_000, "has 2,000 rows"),
        ("c.json", "{}", "it must be a list"),
        ("c.json", '[["0"]]', "a number"),
        ("c.json", "[[0, NaN], [1, 0]]", "cannot be used"),
        ("c.json", "[" * 10_000, "nested too deeply"),
        ("c.toml", "table = [[0]]", "has the keys"),
        ("c.toml", "costs = 3", "it must be a list"),
        ("c.txt", "0", "ends in '.txt'"),
        ("costs", "0", "it must end in .csv, .json, .toml"),
    ],
)
def test_file_that_is_no_table_is_refused(
    name: str, text: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        read_costs(tmp_path / name)
    assert name in str(error.value)


def test_large_files_and_pipes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("0," * LARGEST)
    with pytest.raises(InputError, match="too large"):
        read_costs(tmp_path / "c.csv")
    os.mkfifo(tmp_path / "c.json")
    with pytest.raises(InputError, match="give a regular file"):
        read_costs(tmp_path / "c.json")
