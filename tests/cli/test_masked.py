"""Policies with action masks on the command line."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest

from tests.cli.conftest import Run
from tests.support.masked_env import Doors

ENV = "tests/Doors-v0"


@pytest.fixture
def masked_zip(tmp_path: Path) -> Iterator[Path]:
    """The zip of a MaskablePPO whose env is registered; it was not trained."""
    from sb3_contrib import MaskablePPO

    path = tmp_path / "doors.zip"
    MaskablePPO("MlpPolicy", Doors(), device="cpu", seed=0).save(path)
    gym.register(ENV, entry_point="tests.support.masked_env:Doors")
    yield path
    gym.registry.pop(ENV)


def test_masked_policy_is_measured_limited_and_exported(
    run: Run, masked_zip: Path, tmp_path: Path
) -> None:
    code, text, _ = run("evaluate", masked_zip, "--env", ENV, "--episodes", 3, "--limit", 0)
    assert code == 0
    assert "forced" in text
    file = tmp_path / "policy.onnx"
    code, _, _ = run("export", masked_zip, "--env", ENV, "--limit", 0.1, "--out", file)
    assert code == 0
    assert file.exists()
