"""policy-inertia push: a card and a policy in a folder, as they would be on the Hub."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_policy_and_its_card_are_written_and_pulled(
    run: Run, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text, _ = run("push", finished, "./card", "--episodes", 1)
    assert code == 0
    assert "The policy and its card are in card" in text
    assert {"README.md", "policy.safetensors"} < {path.name for path in Path("card").iterdir()}
    code, text, _ = run("pull", "./card")
    assert code == 0
    assert "It is in runs/card; evaluate, record, export and dial take it" in text
    code, _, _ = run("evaluate", "runs/card", "--episodes", 1)
    assert code == 0


def test_wrong_destination_is_one_sentence(run: Run, finished: Path) -> None:
    code, _, text = run("push", finished, "calm", "--episodes", 1)
    assert (code, text.count("\n")) == (2, 1)
    assert "'calm' is no repository of the Hub: write user/name" in text
