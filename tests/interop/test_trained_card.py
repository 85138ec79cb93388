"""A policy of a run becomes one of the package, and the card is measured again."""

from pathlib import Path

import pytest

from policy_inertia import InputError, Policy
from policy_inertia.interop import trained_card
from policy_inertia.policies.trained import FOLDER
from tests.support.policies import fresh

RUN = FOLDER / "merge-dqn.safetensors"


def test_a_policy_is_added_from_its_file_or_run(tmp_path: Path) -> None:
    file = trained_card.add_policy(RUN, "merge-nsac", tmp_path)
    assert file == tmp_path / "merge-nsac.safetensors"
    assert Policy.load(file).task == "policy_inertia/Merge-v0"


def test_a_policy_of_another_task_is_refused_in_a_sentence(tmp_path: Path) -> None:
    fresh().replace(task="CartPole-v1").save(tmp_path / "p.safetensors")
    with pytest.raises(InputError, match="was trained on CartPole-v1: give a run on a task"):
        trained_card.add_policy(tmp_path / "p.safetensors", "x", tmp_path)


def test_the_table_of_the_card_is_replaced_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trained_card, "card_rows", lambda name: [f"| {name} |"])
    monkeypatch.setattr(trained_card, "trained_policies", lambda: ["a", "b"])
    card = tmp_path / "README.md"
    card.write_text(f"before\n\n{trained_card.HEAD}| old |\n| older |\n\nafter\n")
    trained_card.write_table(tmp_path)
    assert card.read_text() == f"before\n\n{trained_card.HEAD}| a |\n| b |\n\nafter\n"
    card.write_text("nothing")
    with pytest.raises(InputError, match="has no place for the table"):
        trained_card.write_table(tmp_path)
