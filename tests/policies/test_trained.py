"""The policies that come with the package work without training."""

from pathlib import Path

import pytest

from policy_inertia import InputError, Policy, evaluate
from policy_inertia.interop.any_policy import load_any
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


def card_row(name: str, budget: float | None) -> str:
    """A row of the table in the model card, measured again."""
    policy = Policy.load(name)
    label = f"`{name}`"
    if budget is not None:
        policy, label = policy.with_budget(budget), f"{label}, budget {budget:g}"
    figures = evaluate(
        policy, policy.task, 200, 0, deterministic=True, env_kwargs=policy.env_kwargs
    ).summary()
    cells = (f"{figures['return']:.2f}", f"{figures['oscillation_ratio']:.3f}")
    numbers = " | ".join((*cells, f"{figures['crash_rate']:.3f}"))
    return f"| {label} | {policy.method} | {numbers} |"


@pytest.mark.parametrize("name", trained_policies())
def test_the_model_card_has_the_figures_of_each(name: str) -> None:
    card = (FOLDER / "README.md").read_text().splitlines()
    budgets = (0.2,) if Policy.load(name).traits.dial else ()
    for budget in (None, *budgets):
        assert card_row(name, budget) in card


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
