"""A package that nobody trusts: importing it leaves a trace, and it registers an env."""

import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest

CODE = """
from pathlib import Path
import gymnasium as gym

Path(__file__).with_suffix(".imported").touch()
gym.register("Canary-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
"""


class Canary:
    """The package `canary_package`, with a trace of its import."""

    module = "canary_package"
    env = "canary_package:Canary-v0"

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"{self.module}.py"
        self.file.write_text(CODE)

    @property
    def imported(self) -> bool:
        """Whether the package was imported, in this process or in another."""
        return self.file.with_suffix(".imported").exists()


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    """A package that can be imported, here and in child processes, and was not imported yet."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    yield Canary(folder)
    sys.modules.pop(Canary.module, None)
    gym.registry.pop("Canary-v0", None)
