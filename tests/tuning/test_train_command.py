"""The command line of a run: the command reads back the same run."""

import shlex
from typing import Any

import pytest

from policy_inertia.cli.train import Train
from policy_inertia.run_settings import settings
from policy_inertia.tuning.train_command import train_command


@pytest.mark.parametrize(
    ("method", "preset", "changes"),
    [
        ("dqn", "default", {}),
        ("dqn", "paper", {"hidden": (32, 16), "double": True, "huber": 2.5, "steps": 123}),
        ("dqn", "default", {"double": False, "huber": None, "normalise": False, "seed": 3}),
        ("nsac", "default", {"core": {"learning_rate": 0.00123, "auto_temperature": False}}),
        ("dqn", "default", {"env_kwargs": {"config": {"a": "b c", "n": 3, "x": "3", "ok": True}}}),
        ("dqn-repeat", "default", {"repeats": (1, 3), "gamma": 0.95}),
    ],
)
def test_command_reads_back_the_same_run(method: str, preset: str, changes: dict[str, Any]) -> None:
    config = settings(method, "CartPole-v1", preset, **changes)
    program, name, *words = shlex.split(train_command(config, preset))
    assert (program, name) == ("policy-inertia", "train")
    assert Train.parse(words)._run_config() == config
