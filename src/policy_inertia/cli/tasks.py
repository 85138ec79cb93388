"""policy-inertia tasks: the environments that the library has settings for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.table import Column, Table

from policy_inertia.cli.command import Command
from policy_inertia.cli.view import out, say
from policy_inertia.envs.registry import TASKS
from policy_inertia.presets import preset_of

OTHERS = """
Every other Atari game works by its name, such as policy_inertia/Breakout-v0, or with sticky
actions as ALE/Breakout-v5 (pip install 'policy-inertia[atari]').
Any other Gymnasium env with discrete actions works by its id (package:Id for your own); its
default settings are the paper's for Highway."""


@dataclass(frozen=True)
class Tasks(Command):
    """List the tasks that have settings of their own.

    Any other Gymnasium environment with discrete actions works too, with the paper's settings.
    """

    name: ClassVar[str] = "tasks"
    example: ClassVar[str] = "policy-inertia tasks"

    def run(self) -> None:
        task_id = Column("task", no_wrap=True)  # readers copy it
        table = Table(task_id, "what it is", "settings that differ from the paper's", box=None)
        for name, task in TASKS.items():
            preset = preset_of(name, task.family)
            text = [f"{k}={v}" for group in preset.values() for k, v in group.items()]
            table.add_row(name, task.about, ", ".join(dict.fromkeys(text)))
        out.print(table)
        say(OTHERS)
