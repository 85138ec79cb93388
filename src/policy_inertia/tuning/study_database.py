"""Optuna's study in a SQLite file: trials are asked for, reported and told here."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.files import refuse_link
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.tuning.search_spaces import Choice, Space

ERROR = "error"
"""The attribute of a trial that failed for a reason of its own."""

OPTUNA_TABLES = {"studies", "trials", "version_info"}


def optuna_package() -> Any:
    """Import Optuna.

    Raises:
        InputError: It is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise InputError(
            "tuning needs Optuna, which is not installed: pip install 'policy-inertia[tune]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


class StudyDatabase:
    """A study of one tuner.

    The sampler of a trial depends on the seed and on the trials before it only, so a tuner that was
    stopped goes on as if it had not been.

    Args:
        path: The SQLite file; made if it is missing.
        space: What is searched.
        seed: The sampler's seed.
        warmup: Steps before which no trial is pruned.
    """

    def __init__(self, path: Path, space: Space, seed: int, warmup: int) -> None:
        self._optuna = optuna_package()
        self.path, self._space, self._seed = path, space, seed
        _refuse_damaged(path)
        with self.using(opening=True):
            self.study = self._optuna.create_study(
                storage=f"sqlite:///{path}",
                study_name="policy-inertia",
                direction="maximize",
                pruner=self._optuna.pruners.MedianPruner(n_warmup_steps=warmup),
                load_if_exists=True,
            )
            self.trials()

    @contextlib.contextmanager
    def using(self, opening: bool = False) -> Iterator[None]:
        """Turn the errors of the database into one sentence; while `opening` it, all errors."""
        from sqlalchemy.exc import SQLAlchemyError

        own = (SQLAlchemyError, self._optuna.exceptions.StorageInternalError)
        try:
            yield
        except Exception as error:
            if not (opening or isinstance(error, own)):
                raise
            raise _unusable(self.path, error.__cause__ or error) from error

    def trials(self) -> list[Any]:
        """The trials that have ended: complete, pruned, or failed for a reason of their own."""
        states = self._optuna.trial.TrialState
        return [
            trial
            for trial in self.study.get_trials(deepcopy=False)
            if trial.state in (states.COMPLETE, states.PRUNED)
            or (trial.state == states.FAIL and ERROR in trial.user_attrs)
        ]

    def go_on(self, first: dict[str, Any]) -> None:
        """Put a trial that was under way at the head of the queue; in a new study, `first`."""
        states = self._optuna.trial.TrialState
        known = self.study.get_trials(deepcopy=False)
        for trial in known:
            if trial.state == states.RUNNING:
                self.study.tell(trial.number, state=states.FAIL)
                self.study.enqueue_trial(trial.params)
        if not known:
            self.study.enqueue_trial(first)

    def ask(self) -> tuple[Any, dict[str, Any]]:
        """Return the next trial, and the value of each setting."""
        seed = stream_seed(self._seed, Stream.TUNING, len(self.trials()))
        self.study.sampler = self._optuna.samplers.TPESampler(seed=seed)
        trial = self.study.ask({name: self._distribution(name) for name in self._space})
        return trial, {name: self._value(name, trial.params[name]) for name in self._space}

    def encode(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values as Optuna knows them; those outside of the space are left out."""
        return {
            name: str(value) if isinstance(self._space[name], Choice) else float(value)
            for name, value in values.items()
            if value in self._space[name]
        }

    def complete(self, trial: Any, value: float) -> None:
        """Note the value of a trial that ran to its end."""
        self.study.tell(trial, value)

    def prune(self, trial: Any) -> None:
        """Note that a trial was ended early."""
        self.study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)

    def fail(self, trial: Any, error: Exception) -> None:
        """Note that a trial failed for a reason of its own."""
        trial.set_user_attr(ERROR, str(error))
        self.study.tell(trial, state=self._optuna.trial.TrialState.FAIL)

    def values(self, trial: Any) -> dict[str, Any]:
        """The value of each setting of a trial that has ended."""
        return {name: self._value(name, trial.params[name]) for name in self._space}

    def _distribution(self, name: str) -> Any:
        row, distributions = self._space[name], self._optuna.distributions
        if isinstance(row, Choice):
            return distributions.CategoricalDistribution([str(option) for option in row.options])
        return distributions.FloatDistribution(row.low, row.high, log=row.log)

    def _value(self, name: str, value: Any) -> Any:
        row = self._space[name]
        if isinstance(row, Choice):
            return {str(option): option for option in row.options}[value]
        return float(f"{value:.3g}")  # more digits mean nothing, and would be in every command


def _refuse_damaged(path: Path) -> None:
    """Check a database before Optuna opens it; a missing one is made.

    Raises:
        InputError: It is damaged, or no SQLite file.
    """
    refuse_link(path)
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except (sqlite3.Error, OSError) as error:
        raise _unusable(path, error) from error
    if answer != "ok":
        raise _unusable(path, answer)
    if tables and not tables >= OPTUNA_TABLES:
        raise _unusable(path, "it has the tables of another program")


def _unusable(path: Path, reason: object) -> InputError:
    text = (str(reason).strip().splitlines() or [type(reason).__name__])[0][:200]
    return InputError(
        f"{path} is no whole database of a tuner ({text}): move it away and give the same command, "
        "which begins again and uses what the folders of the trials have"
    )
