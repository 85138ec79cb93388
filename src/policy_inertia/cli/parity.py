"""policy-inertia parity: our Highway simulator against highway-env."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, ClassVar

from tyro.conf import Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import default_is
from policy_inertia.cli.view import say


@dataclass(frozen=True)
class Parity(Command):
    """Compare our Highway tasks with highway-env.

    Runs highway-env and our simulator from the same seeds with the same random actions, in the
    configuration of highway-env, and reports the largest differences. Exits with code 1 if they
    differ. Needs highway-env.
    """

    name: ClassVar[str] = "parity"
    example: ClassVar[str] = "policy-inertia parity TwoWay"

    tasks: Annotated[Positional[tuple[str, ...]], default_is("all four")] = ()
    """LaneChange, Merge, Intersection, TwoWay."""
    seeds: int = 5
    """Number of episodes; their seeds are 0, 1, 2, ..."""
    steps: int = 30
    """Number of steps of each episode. It continues after a crash."""

    def run(self) -> None:
        from policy_inertia.envs import highway

        equal = True
        for task in self.tasks or highway.TASKS:
            result = highway.parity(task, range(self.seeds), self.steps)
            say(str(result))
            equal = equal and result.forward <= 1e-9 and not result.flags
        if not equal:
            sys.exit(1)
