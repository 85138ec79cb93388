"""policy-inertia tune: search the settings of a method on a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from rich.table import Table
from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import Assignments, EnvKwargs, Seed, assignments, default_is
from policy_inertia.cli.view import say, show_titled, warn

if TYPE_CHECKING:
    from policy_inertia.tuning.tune import Trial

SHOWN = 5
"""Trials in the table at the end."""


@dataclass(frozen=True)
class Tune(Command):
    """Search the settings of a method with Optuna.

    Every trial is a run in a folder of its own. The first one is the preset itself. A trial whose
    evaluations are below the median of the earlier trials is ended early. You can stop the tuner at
    any time; the same command goes on.

    The end shows the best settings as a command line that trains the same policy. It is the best of
    many on one seed, so other seeds may give less: 'policy-inertia compare' measures them.
    """

    name: ClassVar[str] = "tune"
    example: ClassVar[str] = "policy-inertia tune nsac CartPole-v1 --trials 30"

    method: Positional[str]
    """What to tune; 'policy-inertia methods' lists the methods."""
    env: Positional[str]
    """Gymnasium id of the environment."""
    trials: int = 30
    """Number of trials, with those that the folder already has."""
    steps: Annotated[DisallowNone[int | None], default_is("as the preset says")] = None
    """Environment steps of a trial."""
    oscillation_cost: float = 0.0
    """Maximise the return minus this times the oscillation ratio."""
    out: Annotated[DisallowNone[Path | None], default_is("runs/tune-ENV-METHOD-SEED")] = None
    """Folder for the trials and their database."""
    preset: str = "default"
    """The settings that are not searched."""
    seed: Seed = 0
    env_kwargs: EnvKwargs = ()
    set: Assignments = ()
    """Settings of all trials, such as envs=16 eval_every=1000."""

    def run(self) -> None:
        from policy_inertia.tuning.tune import tune

        changes = {"seed": self.seed, **assignments("--set", self.set)}
        changes |= {} if self.steps is None else {"steps": self.steps}
        changes |= {"env_kwargs": assignments("--env-kwargs", self.env_kwargs)}
        tuned = tune(
            self.method,
            self.env,
            self.trials,
            out=self.out,
            preset=self.preset,
            oscillation_cost=self.oscillation_cost,
            watch=_show_newest,
            warn=warn,
            **changes,
        )
        complete = [t for t in tuned.trials if t.value is not None]
        _show(sorted(complete, key=lambda t: -(t.value or 0.0))[:SHOWN], len(tuned.trials))
        say(f"The best trial is in {tuned.best.folder}; this command trains it again:\n")
        say(f"  {tuned.command}")


def _show_newest(trials: Sequence[Trial], of: int) -> None:
    if trials:
        newest = trials[-1]
        value = "" if newest.value is None else f" with {newest.value:.4g}"
        values = (t.value for t in trials if t.value is not None)
        best = max(values, default=None)
        so_far = "" if best is None else f"; best so far {best:.4g}"
        say(f"trial {newest.number} of {of}: {newest.state}{value}{so_far}")


def _show(trials: Sequence[Trial], of: int) -> None:
    names = list(trials[0].settings)
    table = Table("trial", "value", *names, box=None)
    for trial in trials:
        cells = (" ".join(map(str, v)) if isinstance(v, tuple) else v for v in _values(trial))
        table.add_row(str(trial.number), f"{trial.value:.4g}", *map(str, cells))
    show_titled(f"Best {len(trials)} of {of} trials", table)


def _values(trial: Trial) -> Sequence[object]:
    return list(trial.settings.values())
