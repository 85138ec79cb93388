"""policy-inertia theory: the paper's theorems on exact MDPs."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import Quiet, Seed, default_is
from policy_inertia.cli.progress import counting
from policy_inertia.cli.view import PlainConsole, complain, out, say
from policy_inertia.files import make_folder, write_file


@dataclass(frozen=True)
class Theory(Command):
    """Check the paper's theorems on exact MDPs.

    Tries each statement of the paper on random MDPs and reports in how many it holds, by how much
    at least, and by how much it fails. Then draws nested policy iteration, the best trade-off of
    return against switching that any mu has, and hard limits on switching against prices of it.
    docs/theory.md explains the rows.
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
    examples: Annotated[DisallowNone[tuple[str, ...] | None], default_is("all")] = None
    """MDPs to draw. The flag without a name draws none."""
    garnets: int = 20
    """Number of random MDPs of each size on which limits are compared with prices. 0 skips it."""
    growth: bool = False
    """Only print how the computing time grows with the MDP, up to 500 states and 5 actions."""
    out: Path = Path("runs/theory")
    """Folder for the table and the pictures."""
    quiet: Quiet = False

    def run(self) -> None:
        from policy_inertia.tabular import EXAMPLES, run_limit_survey, run_survey
        from policy_inertia.tabular.limit_survey import check_garnets
        from policy_inertia.tabular.theory_plots import draw_improvement, draw_limits, draw_tradeoff
        from policy_inertia.tabular.theory_tables import limit_tables, survey_tables, timing_table
        from policy_inertia.tabular.timing import time_by_size

        if self.growth:
            out.print(timing_table(time_by_size()))
            return
        if self.garnets:
            check_garnets(self.garnets)
        make_folder(self.out)
        examples = tuple(EXAMPLES) if self.examples is None else self.examples
        settings = (self.mdps, self.states, self.actions, self.gamma, self.seed, examples)
        with counting("checking", 1, self.quiet) as progress:
            survey = run_survey(*settings, progress=progress)
        tables = survey_tables(survey)
        if survey.examples:
            draw_improvement(survey.examples, self.out / "improvement.png")
            draw_tradeoff(survey.examples, self.out / "tradeoff.png")
        if self.garnets:
            with counting("limits", 1, self.quiet) as progress:
                limits = run_limit_survey(self.garnets, self.seed, progress)
            tables += limit_tables(limits)
            draw_limits(limits, self.out / "limits.png")
        text = io.StringIO()
        for console in (out, PlainConsole(file=text, width=120)):
            console.print(*tables, sep="\n")
        write_file(self.out / "checks.txt", text.getvalue().encode())
        say(f"The table and the pictures are in {self.out}")
        if survey.broken:
            complain(f"statements with a proof failed: {'; '.join(survey.broken)}", "red")
            sys.exit(1)
