"""The policies that come with the package work without training."""

from pathlib import Path

import pytest

from policy_inertia import InputError, Policy
from policy_inertia.interop.any_policy import load_any
from policy_inertia.interop.trained_card import card_rows
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.trained import FOLDER, find_trained, trained_policies

LARGEST = 3_000_000  # bytes of all of them


def test_they_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < LARGEST


@pytest.mark.parametrize("name", trained_policies())
def test_each_is_found_by_its_name(name: str) -> None:
    for policy in (Policy.load(name), load_any(Path(name))):
        assert policy.task.startswith("policy_inertia/")
    assert load_core(name).kind in ("q", "logits")


def test_a_file_of_the_same_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_trained(Path("two-way")) == FOLDER / "two-way.safetensors"
    Path("two-way").mkdir()
    assert find_trained(Path("two-way")) == Path("two-way")


@pytest.mark.parametrize("name", trained_policies())
def test_the_model_card_has_the_figures_of_each(name: str) -> None:
    card = (FOLDER / "README.md").read_text().splitlines()
    assert [row for row in card_rows(name) if row not in card] == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("two-wy", "there is no file two-wy, and no policy of that name .*did you mean 'two-way'"),
        ("nonsense", "there is no file nonsense, .*choose one of intersection"),
    ],
)
def test_a_name_that_no_policy_has_is_refused(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        find_trained(Path(name))


@pytest.mark.parametrize("path", ["a/two-way", "two-way.zip", "/two-way"])
def test_a_path_is_no_name(path: str) -> None:
    assert find_trained(Path(path)) == Path(path)
