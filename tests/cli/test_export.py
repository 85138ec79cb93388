from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytest.importorskip("onnx")


def test_policy_is_exported_with_its_filter(run: Run, finished: Path, tmp_path: Path) -> None:
    import onnx

    path = tmp_path / "smooth.onnx"
    code, text, _ = run("export", finished, "--out", path, "--hysteresis", 0.5)
    assert code == 0
    assert "random inputs" in text
    assert "previous_action" in [i.name for i in onnx.load(path).graph.input]


def test_model_card_is_a_folder(run: Run, finished: Path, tmp_path: Path) -> None:
    code, text, _ = run("export", finished, "--card", tmp_path / "card", "--episodes", 2)
    assert code == 0
    assert {"README.md", "policy.safetensors"} <= {p.name for p in (tmp_path / "card").iterdir()}
    assert "README.md" in text


def test_environment_is_given_for_a_foreign_zip_only(run: Run, finished: Path) -> None:
    code, _, text = run("export", finished, "--env", "CartPole-v1")
    assert code == 2
    assert "names its environment" in text
    code, _, text = run("export", "policy.zip")
    assert code == 2
    assert "add --env" in text
