"""A command that a test adds."""

from dataclasses import dataclass
from typing import ClassVar

from tyro.conf import Positional

from policy_inertia.cli.command import Command


@dataclass(frozen=True)
class Greet(Command):
    """Greet somebody."""

    name: ClassVar[str] = "greet"
    example: ClassVar[str] = "policy-inertia greet Ada --times 2"

    person: Positional[str]
    """Who."""
    times: int = 1
    """How often."""

    def run(self) -> None:
        for _ in range(self.times):
            print(f"hello {self.person}")
