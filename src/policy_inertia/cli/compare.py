"""policy-inertia compare: several methods on one environment, over several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from policy_inertia.cli.command import Command, command_line
from policy_inertia.cli.flags import Assignments, Thresholds, WorkerOptions, assignments
from policy_inertia.cli.progress import study_progress
from policy_inertia.cli.study_view import show_results
from policy_inertia.cli.view import say


@dataclass(frozen=True)
class Compare(Command):
    """Train several methods and compare them.

    Trains every method with every seed, one process per processor core, and shows return and
    oscillation side by side. You can stop it at any time; the same command continues.
    """

    name: ClassVar[str] = "compare"
    example: ClassVar[str] = "policy-inertia compare dqn sac nsac --env CartPole-v1"

    methods: Positional[tuple[str, ...]]
    """Names from 'policy-inertia methods'."""
    workers: Annotated[WorkerOptions, arg(name="")]
    env: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seeds: int = 3
    """Number of runs of each method. Use five or more before you draw a conclusion."""
    steps: int = 50_000
    """Environment steps of each run."""
    hysteresis: Thresholds = ()
    set: Assignments = ()
    """Settings of all runs (eval_every=2000) or of one method (nsac.core.temperature=0.05)."""
    out: Path = Path("runs/compare")
    """Folder for the runs and the report."""

    def run(self) -> None:
        say(  # at once: loading the libraries takes seconds, and the runs take minutes
            f"Comparing {', '.join(self.methods)} on {self.env}, with {self.seeds} "
            f"seed{'s' * (self.seeds != 1)} and {self.steps:,} steps a run, in {self.out}"
        )
        from policy_inertia.study.run.scheduler import compare

        settings = assignments("--set", self.set)
        overrides = {name: settings.pop(name) for name in self.methods if name in settings}
        with study_progress(self.workers.quiet) as watch:
            results = compare(
                self.methods,
                self.env,
                self.seeds,
                self.out,
                self.workers.jobs,
                self.hysteresis,
                overrides,
                watch,
                command_line(),
                **{"steps": self.steps, **settings},
            )
        show_results(results)
