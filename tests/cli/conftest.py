"""Run one command in this process, and a short run of a nested method to show."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from policy_inertia import train
from policy_inertia.cli.main import main

SHORT: dict[str, Any] = {"steps": 800, "eval_every": 400, "eval_episodes": 2, "final_episodes": 2}
SHORT_FLAGS = [word for k, v in SHORT.items() for word in (f"--{k.replace('_', '-')}", v)]


class Finished(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Finished]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `policy-inertia` with the given words."""

    def run_command(*words: object) -> Finished:
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "argv", ["policy-inertia", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        return Finished(code, *capfd.readouterr())

    return run_command


@pytest.fixture(scope="session")
def nested_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short run of NSAC on CartPole, with a mu of at least 0.25."""
    out = tmp_path_factory.mktemp("runs") / "nested"
    train("nsac", "CartPole-v1", out, mu0=0.25, **SHORT)
    return out
