"""Tune: search the settings with which a method gets the most return on a task."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from policy_inertia.envs.making import EnvLike, copyable, make_vector, name_of
from policy_inertia.errors import DivergenceError, InputError, Stopped
from policy_inertia.files import claim
from policy_inertia.policies.policy_file import choice_spec
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.storage import FORMAT, read_json, write_json
from policy_inertia.study.folder import finished, read_result
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.loop import Progress, default_folder, run
from policy_inertia.training.run_folder import read_description, refuse_other
from policy_inertia.tuning.search_spaces import Space, space_of, value_of, with_values
from policy_inertia.tuning.study_database import StudyDatabase, optuna_package
from policy_inertia.tuning.train_command import train_command

ABOUT, DATABASE = "tune.json", "trials.db"
WARMUP = 0.2
"""Share of the steps in which no trial is pruned."""
EVALUATIONS = 10
"""Evaluations of a trial, unless its settings say how often."""


@dataclass(frozen=True)
class Description:
    """The contents of `tune.json`: what must stay the same when a tuner goes on."""

    config: dict[str, Any]
    space: list[str]
    oscillation_cost: float


@dataclass(frozen=True)
class Trial:
    """One trial that has ended.

    Attributes:
        number: Its number, from 0.
        state: "complete", "pruned" or "failed".
        value: What is maximised; None unless it is complete.
        settings: The settings that were searched.
        folder: Its run folder.
    """

    number: int
    state: str
    value: float | None
    settings: dict[str, Any]
    folder: Path


@dataclass(frozen=True)
class Tuned:
    """What a tuner has found out.

    Attributes:
        trials: All trials that have ended, in their order.
        best: The trial with the largest value.
        config: The best trial's run.
        command: The command line that trains it again.
    """

    trials: tuple[Trial, ...]
    best: Trial
    config: RunConfig
    command: str


Watch = Callable[[Sequence[Trial], int], None]
"""Called with the trials that have ended and the number of all, before each trial."""


def tune(
    method: str,
    env: EnvLike,
    trials: int = 30,
    *,
    out: str | os.PathLike[str] | None = None,
    preset: str = "default",
    space: Space | None = None,
    oscillation_cost: float = 0.0,
    watch: Watch | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    **changes: Any,
) -> Tuned:
    """Search the settings of a method on an env.

    The first trial is the preset itself. A trial whose evaluations are below the median of the
    earlier trials is ended early. The same call goes on with a tuner that was stopped.

    Args:
        method: A name from `METHODS`.
        env: A Gymnasium id, a function that makes an env, or an env that its spec can copy.
        trials: Number of trials, with those that the folder already has.
        out: The tuner's folder; by default `runs/tune-ENV-METHOD-SEED`.
        preset: The settings that are not searched.
        space: What is searched; by default the rows of `tuning/search_spaces.py`.
        oscillation_cost: Maximise the return minus this times the oscillation ratio.
        watch: Called before each trial, and at the end.
        progress: Called while a trial trains.
        warn: Called with each warning.
        **changes: Settings of all trials, such as `steps`, `seed` or `envs`.

    Raises:
        InputError: An argument is wrong, Optuna is missing, the folder is another tuner's, its
            database is damaged, or no trial ran to its end.
        Stopped: SIGINT or SIGTERM came; the trial under way is saved.
    """
    optuna_package()
    if trials < 1:
        raise InputError(f"trials is {trials}: a tuner needs at least 1")
    env, kwargs = copyable(env, changes.get("env_kwargs"))
    changes |= {"env_kwargs": kwargs} if kwargs else {}
    base = settings(method, name_of(env), preset, **changes)
    if "eval_every" not in changes:
        changes["eval_every"] = min(base.eval_every, max(1, base.steps // EVALUATIONS))
        base = settings(method, name_of(env), preset, **changes)
    space = space_of(base) if space is None else space
    first = {name: value_of(base, name) for name in space}
    _refuse_bad_env(env, base)  # before the folder: it leaves nothing behind
    path = default_folder(base.env, base.method, base.seed)
    path = Path(out or path.with_name(f"tune-{path.name}"))
    lock = claim(path, ABOUT, "tuner")
    try:
        _describe(path, base, space, oscillation_cost)
        database = StudyDatabase(path / DATABASE, space, base.seed, int(WARMUP * base.steps))

        def config_of(values: dict[str, Any]) -> RunConfig:
            return with_values(base.method, base.env, preset, changes, values)

        tuner = _Tuner(path, env, database, config_of, oscillation_cost, progress, warn)
        with database.using():
            database.go_on(database.encode(first))
            while len(tuner.ended()) < trials:
                (watch or _nothing)(tuner.ended(), trials)
                tuner.run_one()
            (watch or _nothing)(tuner.ended(), trials)
            return _result(tuner, preset)
    finally:
        lock.close()


def _nothing(trials: Sequence[Trial], of: int) -> None:
    pass


def _refuse_bad_env(env: EnvLike, base: RunConfig) -> None:
    """Make the env once, so that a bad one raises here."""
    vector, spaces = make_vector(env, 1, base.env_kwargs)
    vector.close()
    choice_spec(spaces, base.repeats, base.config.traits)


def _describe(path: Path, base: RunConfig, space: Space, cost: float) -> None:
    """Write `tune.json`, or compare it with what is asked for.

    Raises:
        InputError: The folder is another tuner's.
    """
    about = Description(base.to_dict(), sorted(map(str, space.items())), cost)
    if (path / ABOUT).exists():
        old = read_json(path / ABOUT, Description, "the description of a tuner")
        refuse_other(path, vars(old), vars(about))
    write_json(path / ABOUT, {"format": FORMAT, **vars(about)})


class _PruneError(Exception):
    """A trial is not worth its time."""


class _Pruner:
    """A logger that reports evaluations to a trial and ends it early."""

    def __init__(self, trial: Any, cost: float) -> None:
        self._trial, self._cost, self._newest = trial, cost, -1

    def log(self, step: int, figures: dict[str, Any], speed: float) -> None:
        value = score(figures, "eval/", self._cost)
        if step <= self._newest or value is None:
            return
        self._newest = step
        self._trial.report(value, step)
        if self._trial.should_prune():
            raise _PruneError

    def close(self) -> None:
        pass


def score(figures: dict[str, Any], before: str, cost: float) -> float | None:
    """What is maximised: the return minus the cost of oscillation; None without a return."""
    value = figures.get(f"{before}return")
    oscillation = figures.get(f"{before}oscillation_ratio") or 0.0
    return None if value is None else float(value) - cost * float(oscillation)


@dataclass(frozen=True)
class _Tuner:
    """A tuner under way."""

    path: Path
    env: EnvLike
    database: StudyDatabase
    config_of: Callable[[dict[str, Any]], RunConfig]
    cost: float
    progress: Progress | None
    warn: Callable[[str], None]

    def folder(self, number: int) -> Path:
        return self.path / f"trial-{number:03d}"

    def ended(self) -> list[Trial]:
        return [
            Trial(
                number,
                trial.state.name.lower().replace("fail", "failed"),
                trial.value if trial.state.name == "COMPLETE" else None,
                self.database.values(trial) if trial.params else {},
                self.folder(number),
            )
            for number, trial in enumerate(self.database.trials())
        ]

    def run_one(self) -> None:
        """Carry out the next trial, or go on with the one that was under way."""
        number = len(self.database.trials())
        trial, values = self.database.ask()
        folder, pruner = self.folder(number), _Pruner(trial, self.cost)
        try:
            for line in read_metrics(folder):
                pruner.log(line["step"], line, 0.0)
            self.database.complete(trial, self._train(self.config_of(values), folder, pruner))
        except _PruneError:
            self.database.prune(trial)
        except DivergenceError as error:
            self.database.fail(trial, error)
        except Stopped as stop:
            sentence = f"stopped in trial {number}, which is saved; the same command goes on"
            raise Stopped(stop.signal, sentence) from None
        Checkpoints(folder).remove()  # with their replay, they are larger than all other files
        jax.clear_caches()  # the next trial compiles programs of its own

    def _train(self, config: RunConfig, folder: Path, pruner: _Pruner) -> float:
        """Train a trial to its end and return its value."""
        resume = (folder / "run.json").exists()
        if resume:  # of this trial, or of one in a database that is gone
            refuse_other(folder, read_description(folder).config, config.to_dict())
        if not (resume and finished(folder, config.steps)):
            run(config, folder, self.env, resume, self.progress, self.warn, loggers=[pruner])
        value = score(read_result(folder).sampled, "", self.cost)
        if value is None:
            raise DivergenceError(f"{folder} has no return")
        return value


def _result(tuner: _Tuner, preset: str) -> Tuned:
    trials = tuner.ended()
    complete = [trial for trial in trials if trial.value is not None]
    if not complete:
        raise InputError(
            f"none of the {len(trials)} trials in {tuner.path} ran to its end: give more --trials, "
            "or a smaller range of settings"
        )
    best = max(complete, key=lambda trial: trial.value or 0.0)
    config = tuner.config_of(best.settings)
    return Tuned(tuple(trials), best, config, train_command(config, preset))
