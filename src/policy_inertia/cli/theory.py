"""policy-inertia theory: the paper's theorems on exact MDPs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from rich.console import Console

from policy_inertia.cli.command import Command
from policy_inertia.cli.options import Quiet, Seed, default_is
from policy_inertia.cli.progress import counting
from policy_inertia.cli.view import complain, out
from policy_inertia.errors import InputError, nearest

EXAMPLES = ("garnet", "windy-line", "chain", "overtaking", "two-way")


@dataclass(frozen=True)
class Theory(Command):
    """Check the paper's theorems on exact MDPs.

    Tries each statement of the paper on random MDPs and reports in how many it holds, by how much
    at least, and by how much it fails. Then draws nested policy iteration, and the best trade-off
    of return against switching that any mu has. docs/theory.md explains the rows.
    """

    name: ClassVar[str] = "theory"
    example: ClassVar[str] = "policy-inertia theory"

    mdps: int = 100
    """Number of random MDPs for each statement."""
    states: int = 4
    """Number of states of each MDP."""
    actions: int = 3
    """Number of actions of each MDP."""
    gamma: float = 0.9
    """Discount factor."""
    seed: Seed = 0
    examples: Annotated[tuple[str, ...], default_is("all")] = EXAMPLES
    """MDPs to draw. The flag without a name draws none."""
    growth: bool = False
    """Only print how the computing time grows with the MDP, up to 500 states and 5 actions."""
    out: Path = Path("runs/theory")
    """Folder for the table and the pictures."""
    quiet: Quiet = False

    def run(self) -> None:
        from policy_inertia import tabular
        from policy_inertia.storage import cannot_write
        from policy_inertia.tabular import portrait, tables

        if self.growth:
            out.print(tables.growth_table(portrait.growth()))
            return
        for name, least in (("mdps", 1), ("states", 1), ("actions", 2)):
            if getattr(self, name) < least:
                value = getattr(self, name)
                raise InputError(f"--{name} is {value}: it must be at least {least}")
        if not 0 <= self.gamma < 1:
            raise InputError(f"--gamma is {self.gamma}: it must lie in [0, 1)")
        for name in self.examples:
            if name not in tabular.EXAMPLES:
                raise InputError(f"there is no example '{name}'{nearest(name, tabular.EXAMPLES)}")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.out, error) from error
        sizes = (self.states, self.actions, self.gamma)
        found: list[tabular.Finding] = []
        portraits: list[portrait.Portrait] = []
        total = len(tabular.CHECKS) + len(self.examples)
        with counting("checking", total, self.quiet or not out.is_terminal) as watch:
            for check in tabular.CHECKS:
                watch(len(found), total, check.about.strip())
                found += tabular.run_checks(self.mdps, self.seed, (check,), *sizes)
            for name in self.examples:
                watch(len(found) + len(portraits), total, f"drawing {name}")
                portraits.append(portrait.portrait(tabular.EXAMPLES[name]()))
            watch(total, total)
        paper, ours = tabular.median_bounds(self.mdps, self.seed, *sizes)
        shown: list[Any] = [
            tables.findings_table(f"{self.mdps} random MDPs for each statement", found),
            f"\nLemma 3.1 allows a mu of {paper:.2g}, our bound one of {ours:.2g} (medians)\n",
        ]
        if portraits:
            shown.append(tables.portraits_table(portraits))
        with open(self.out / "checks.txt", "w") as file:
            for console in (out, Console(file=file, width=120)):
                console.print(*shown, sep="\n")
        if portraits:
            from policy_inertia.tabular.pictures import draw_improvement, draw_tradeoff

            draw_improvement(portraits, self.out / "improvement.png")
            draw_tradeoff(portraits, self.out / "tradeoff.png")
        out.print(f"The table and the pictures are in {self.out}", soft_wrap=True)
        broken = [f.check.about.strip() for f in found if f.check.promised and f.failed]
        if broken:
            complain(f"what should hold did not: {'; '.join(broken)}", "red")
            sys.exit(1)
