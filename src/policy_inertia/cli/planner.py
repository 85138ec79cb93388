"""policy-inertia planner: what a planner that knows the future reaches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Burst,
    EnvKwargs,
    Quiet,
    Seed,
    assignments,
    default_is,
    limit,
)
from policy_inertia.cli.progress import counting
from policy_inertia.cli.view import say, show_figures


@dataclass(frozen=True)
class Planner(Command):
    """Plan the best episodes of a task, knowing the future.

    The planner copies the simulator, so it sees what every vehicle will do: it is no rival of a
    policy. It is a beam search, which finds less than the optimum: the table is an estimate from
    below of what clairvoyance can do. A row has the best episodes whose mean oscillation ratio is
    within a budget. A crash is never preferred.

    With --limit every episode makes at most burst + rate * n switches in every n steps, as a policy
    within that limit does; the last row has the best of them.
    """

    name: ClassVar[str] = "planner"
    example: ClassVar[str] = "policy-inertia planner TwoWay --seeds 20"

    task: Positional[str]
    """LaneChange, Merge, Intersection or TwoWay, or the id of such a task."""
    seeds: int = 20
    """Number of episodes: those of 'evaluate' with the same --seed."""
    seed: Seed = 0
    budgets: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2)
    """Oscillation ratios; a row for each, and one without a budget."""
    limit: Annotated[DisallowNone[float | None], default_is("no limit")] = None
    """Hold every episode to a limit on switching: this many switches per step, and a burst of some
    more."""
    burst: Burst = None
    beam: int = 50
    """Episodes that each beam keeps at first. It is doubled until two doublings raise nothing."""
    widest: int = 1600
    """Do not widen a beam beyond this."""
    env_kwargs: EnvKwargs = ()
    out: Annotated[DisallowNone[Path | None], default_is("no file")] = None
    """JSON file for the figures and the episodes."""
    quiet: Quiet = False

    def run(self) -> None:
        from policy_inertia.envs.registry import env_id, highway_modules
        from policy_inertia.planner.edge_file import save_edge
        from policy_inertia.planner.upper_edge import find_upper_edge

        env = env_id(self.task) if self.task in highway_modules() else self.task
        kwargs, held_to = (
            assignments("--env-kwargs", self.env_kwargs),
            limit(self.limit, self.burst),
        )
        with counting("episodes", self.seeds, self.quiet) as progress:
            edge = find_upper_edge(
                env,
                self.seeds,
                self.seed,
                self.beam,
                self.widest,
                self.budgets,
                kwargs,
                progress,
                held_to,
            )
        show_figures(f"{env}: a planner that knows the future", edge.figures(self.budgets))
        settled = sum(p.settled for p in edge.plans)
        say(
            f"An estimate from below. Beams stopped rising in {settled} of {len(edge.plans)} "
            f"episodes, at a width of up to {max(p.width for p in edge.plans):,}."
        )
        if held_to is not None:
            say(
                f"Every episode keeps the limit: at most {held_to.burst:g} + {held_to.rate:g} n "
                "switches in every n steps."
            )
        if self.out is not None:
            save_edge(edge, self.out, self.budgets)
            say(f"Figures and episodes: {self.out}")
