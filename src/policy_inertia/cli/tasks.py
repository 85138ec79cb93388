"""policy-inertia tasks: the environments that the library has settings for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.table import Column, Table

from policy_inertia.cli.command import Command
from policy_inertia.cli.view import out, say
from policy_inertia.envs.registry import TASKS

OTHERS = """
Every other Atari game works by its name, such as policy_inertia/Breakout-v0, or with sticky
actions as ALE/Breakout-v5 (pip install 'policy-inertia[atari]').
Any other Gymnasium env with discrete actions works by its id (package:Id for your own).

Settings come from a preset: --preset default is for tasks of all kinds, --preset paper is the
paper's table. 'policy-inertia train nsac ENV --help' lists them."""


@dataclass(frozen=True)
class Tasks(Command):
    """List the tasks that the library knows.

    Any other Gymnasium environment with discrete actions works too.
    """

    name: ClassVar[str] = "tasks"
    example: ClassVar[str] = "policy-inertia tasks"

    def run(self) -> None:
        task_id = Column("task", no_wrap=True)  # readers copy it
        table = Table(task_id, "what it is", box=None)
        for name, task in TASKS.items():
            table.add_row(name, task.about)
        out.print(table)
        say(OTHERS)
