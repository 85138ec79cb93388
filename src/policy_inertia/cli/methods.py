"""policy-inertia methods: what can be trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.table import Table

from policy_inertia.cli.command import Command
from policy_inertia.cli.view import out, say

TITLES = {
    "discrete": "Discrete actions",
    "box": "Continuous actions (Box)",
    "multi_discrete": "Actions with several heads (MultiDiscrete, MultiBinary)",
}
"""The headings, by the kind of actions."""


@dataclass(frozen=True)
class Methods(Command):
    """List the methods that can be trained.

    'policy-inertia train METHOD --help' shows the settings of a method.
    """

    name: ClassVar[str] = "methods"
    example: ClassVar[str] = "policy-inertia methods"

    def run(self) -> None:
        from policy_inertia.methods import TABLES

        for kind, methods in TABLES.items():
            say(f"{TITLES[kind]}\n")
            table = Table(
                "method", "what it is", "holds an action for", "penalty of a switch", box=None
            )
            for name, row in methods.items():
                steps = ", ".join(map(str, row.repeats))
                hold = "1 step" if row.repeats == (1,) else f"{steps} steps"
                table.add_row(name, row.about, hold, f"{row.penalty:g}" if row.penalty else "")
            out.print(table)
            say("")
        say("\nSettings of a method: policy-inertia train METHOD --help")
