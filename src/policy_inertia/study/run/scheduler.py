"""Carry out a study: choose the next run, give it to a pool, and try a failed run once more.

Every run is a folder that can be resumed, so the scheduler saves nothing itself: the same command
reads the folders and goes on.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from policy_inertia.envs.making import make_vector
from policy_inertia.errors import InputError, Stopped
from policy_inertia.origin import trusted
from policy_inertia.policies.policy_file import choice_spec
from policy_inertia.study.folder import StudyFolder, collect, finished, read_extra
from policy_inertia.study.plan import EXTRAS, Run, Study, Tracked
from policy_inertia.study.results import Results
from policy_inertia.study.run.job import Outcome
from policy_inertia.study.run.workers import Workers
from policy_inertia.study.run_records import Records
from policy_inertia.training.interruption import Interruption
from policy_inertia.training.loggers import read_metrics
from policy_inertia.training.run_folder import read_description, refuse_other

Watch = Callable[[Sequence[Any]], None]
TRIES = 2  # a run that fails is tried once more
WAIT = 0.2  # seconds to wait for an outcome
REFRESH = 0.5  # seconds between two looks at the runs' logs


class Pool(Protocol):
    """A place where runs are carried out."""

    def free(self) -> int:
        """Return how many more runs the pool can take now."""

    def submit(self, run: Any) -> None:
        """Start a run."""

    def outcomes(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the runs that ended; wait at most `seconds` for the first one."""

    def close(self) -> None:
        """Stop all runs and release the pool."""


def compare(
    methods: Sequence[str],
    env: str,
    seeds: int = 3,
    out: str | os.PathLike[str] = "runs/compare",
    jobs: int | None = None,
    hysteresis: Sequence[float] = (),
    overrides: Mapping[str, dict[str, Any]] | None = None,
    watch: Watch | None = None,
    command: str = "",
    **changes: Any,
) -> Results:
    """Train several methods with several seeds on one env and return their results.

    The same call goes on with a comparison that was stopped.

    Args:
        methods: names of methods, such as "dqn" and "nsac".
        env: Gymnasium id of the env.
        seeds: number of runs of each method.
        out: folder of the comparison.
        jobs: number of runs at a time; one for each core by default.
        hysteresis: thresholds of the filter; every policy is also evaluated with each of them.
        overrides: settings of single methods, such as `{"nsac": {"mu0": 0.1}}`.
        watch: called with all runs while they go on.
        command: the command line to show in the report.
        **changes: settings of all runs, such as `steps` or `eval_every`.

    Raises:
        InputError: a method, the env or a setting is unknown or cannot be used.
    """
    study = Study.of_methods(methods, env, seeds, hysteresis, overrides, changes)
    return run_study(study, out, Workers(jobs), watch, command)


def run_study(
    study: Study,
    out: str | os.PathLike[str],
    pool: Pool | None = None,
    watch: Watch | None = None,
    command: str = "",
    records: Records | None = None,
) -> Results:
    """Carry out the unfinished runs of a study in the folder `out`, and return all results.

    A run that has a record with the same settings is not repeated: its figures are restored. A run
    that fails twice is listed in the results; the other runs go on.

    Args:
        study: the study.
        out: its folder; a folder of the same study is continued.
        pool: where the runs go; by default one process for each core. It is closed at the end.
        watch: called with all runs while they go on.
        command: the command line to show in the report.
        records: a folder of records; none are read or written without it.

    Raises:
        Stopped: SIGINT or SIGTERM came. The runs under way on this machine have saved themselves,
            except after a second signal, which stops them at once.
    """
    path = Path(out).absolute()
    runs = study.runs(path)
    if records is not None:
        records.refuse_others(runs)
    # before the folder is made: a bad env leaves nothing behind
    _refuse_bad_envs([r for r in runs if not done_or_recorded(r, records)])
    folder = StudyFolder(path, study, command)
    pool = pool or Workers()
    with Interruption() as interruption:
        try:
            with interruption.at_once():
                for r in runs:
                    _prepare(r, records)
                ended = _nothing if records is None else records.write
                carry_out(runs, pool, watch or _nothing, ended)
            folder.write_failures(runs)
            return _vouched_for(collect(path), study)
        except Stopped as stop:
            raise Stopped(stop.signal, "stopped; the same command goes on") from None
        finally:
            pool.close()
            folder.close()


def _vouched_for(results: Results, study: Study) -> Results:
    """Mark the settings of this study's experiments as the caller's own words.

    They were read from study.json, which this process has written. Experiments that the file had
    before are still what a file says.
    """
    own = {e.name for e in study.experiments}
    experiments = [
        dataclasses.replace(
            e,
            lines=[
                dataclasses.replace(x, env=str(x.env), config=trusted(x.config)) for x in e.lines
            ],
        )
        if e.name in own
        else e
        for e in results.experiments
    ]
    return dataclasses.replace(results, experiments=experiments)


def done(r: Run) -> bool:
    """Return whether a run and its extra evaluations are finished.

    Raises:
        InputError: the run's folder holds a run with other settings.
    """
    about = r.path / "run.json"
    if about.exists():
        refuse_other(r.path, read_description(r.path).config, r.config.to_dict())
    return finished(r.path, r.config.steps) and all(
        {repr(level) for level in getattr(r, name)}
        <= read_extra(r.path, r.config.steps, name).keys()
        for name in EXTRAS
    )


def done_or_recorded(r: Run, records: Records | None) -> bool:
    """Return whether a run need not be carried out: it is done, or its record replaces it."""
    return done(r) or (records is not None and records.has(r))


def _prepare(r: Run, records: Records | None) -> None:
    """Set a run's first state; restore it from its record, or write the record of a done run."""
    if records is not None and not done(r) and records.has(r):
        records.restore(r)
    r.state = "done" if done(r) else "waiting"
    if records is not None and r.state == "done" and not records.has(r):
        records.write(r)


def _refuse_bad_envs(runs: Sequence[Run]) -> None:
    """Make every env of these runs once, so that a bad env raises here and not in every run."""
    known = []
    for r in runs:
        for kwargs in (r.config.env_kwargs, r.config.test_kwargs):
            if (r.config.env, kwargs) not in known:
                known.append((r.config.env, kwargs))
                vector, spaces = make_vector(r.config.env, 1, kwargs)
                vector.close()
                choice_spec(spaces, r.config.repeats, r.config.config.traits)


def carry_out(
    runs: Sequence[Tracked], pool: Pool, watch: Watch, ended: Callable[[Any], None]
) -> None:
    """Give the waiting runs to the pool in order; failed ones go to the end of the queue.

    Args:
        runs: All runs of a study.
        pool: Where they are carried out.
        watch: Called with all runs while they go on.
        ended: Called with each run that is done.
    """
    waiting = deque(r for r in runs if r.state == "waiting")
    active = 0
    refreshed = 0.0
    while waiting or active:
        while waiting and pool.free() > 0:
            r = waiting.popleft()
            r.tries, r.state, r.error = r.tries + 1, "running", None
            pool.submit(r)
            active += 1
        for r, outcome in pool.outcomes(WAIT):
            active -= 1
            _refresh(r)
            _end(r, outcome)
            if r.state == "waiting":
                waiting.append(r)
            elif r.state == "done":
                ended(r)
        if time.monotonic() - refreshed > REFRESH:
            for r in runs:
                if r.state == "running":
                    _refresh(r)
            refreshed = time.monotonic()
        watch(runs)


def _nothing(what: Any) -> None:
    pass


def _end(r: Tracked, outcome: Outcome) -> None:
    """Note how an attempt ended; after a first failure the run waits for its second try."""
    r.seconds += outcome.seconds
    r.error, r.traceback = outcome.error, outcome.traceback
    if r.error is None:
        r.state = "done"
    else:
        r.state = "waiting" if r.tries < TRIES else "failed"


def _refresh(r: Tracked) -> None:
    """Read a run's progress from its log, wherever the run is carried out."""
    try:
        records = read_metrics(r.path)
    except InputError:  # a damaged log: the run cuts it when it goes on, and the report names it
        return
    if records:
        r.step, r.figures = records[-1]["step"], records[-1]
