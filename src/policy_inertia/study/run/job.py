"""One run of a study in a process of its own: a worker of this machine, or a task of a cluster."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import jax

from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.best_filter import BestFilter
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.calibration.sweep import calibrate, refine
from policy_inertia.calibration.within_limits import LIMITS, best_within, within_limits
from policy_inertia.errors import InputError, Stopped
from policy_inertia.evaluation.evaluate import evaluate_both
from policy_inertia.machine import use_one_thread
from policy_inertia.metrics.estimates import Rule, upper_bound
from policy_inertia.metrics.limit_violations import count_violations
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.origin import file_texts, from_file
from policy_inertia.policies.policy import Policy
from policy_inertia.run_settings import RunConfig
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.study.folder import finished, read_extra, write_extra
from policy_inertia.study.plan import EXTRAS, Extra, Run
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.training.interruption import request_stop
from policy_inertia.training.loop import run

Job = dict[str, Any]
"""A run as JSON: its folder, its configuration, its trackers, and the levels of its extra
evaluations.

`files` names the files that its texts come from, if they are not the user's own words.
"""


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: without an error, or with one and its traceback."""

    error: str | None
    traceback: str = ""
    seconds: float = 0.0


def job_of(run: Run, log: Sequence[str] = ()) -> Job:
    """Return a run as the JSON that a worker reads; `log` names the trackers of its training."""
    levels = {name: list(getattr(run, name)) for name in EXTRAS}
    config = run.config.to_dict()
    files = sorted({text.file for _, text in file_texts(config)})
    about = {"path": str(run.path), "config": config, "files": files, "log": list(log)}
    return {**about, "limits_by": run.limits_by, **levels}


def attempt(job: Job, execute: Callable[[Job], None] | None = None) -> Outcome:
    """Carry out a run, or resume it; return an error instead of raising it.

    Args:
        job: What `execute` reads.
        execute: Carries out a job; by default a run that `job_of` describes.
    """
    started = time.perf_counter()
    error, trace = None, ""
    try:
        (execute or _execute)(job)
    except Exception as exception:
        lines = str(exception).strip().splitlines() or [type(exception).__name__]
        expected = isinstance(exception, InputError)
        error = lines[-1] if expected else f"{type(exception).__name__}: {lines[-1]}"
        trace = traceback.format_exc()
    return Outcome(error, trace, time.perf_counter() - started)


def _execute(job: Job) -> None:
    values, path = job["config"], Path(job["path"])
    if job["files"]:
        values = from_file(values, ", ".join(job["files"]))
    config = RunConfig.from_dict(values)
    if not finished(path, config.steps) or _cannot_evaluate(job):
        run(config, path, resume=(path / "run.json").exists(), warn=_print, log=job["log"])
    for name in EXTRAS:
        evaluate_extra(path, config, name, job[name], job["limits_by"])
    Checkpoints(path).remove()  # a checkpoint with its replay is much larger than all other files
    jax.clear_caches()  # the next run compiles programs of its own


def _print(text: str) -> None:
    print(text, file=sys.stderr)


def _cannot_evaluate(job: Job) -> bool:
    """Return whether a finished run lacks an extra evaluation and its policy: train it again.

    This is so if the run was restored from a record, and the study asks for more now.
    """
    path, steps = Path(job["path"]), job["config"]["steps"]
    missing = any(
        {repr(level) for level in job[name]} - read_extra(path, steps, name).keys()
        for name in EXTRAS
    )
    return missing and not (path / "policy.safetensors").exists()


def evaluate_extra(
    path: Path,
    config: RunConfig,
    name: str,
    levels: list[float],
    limits_by: Rule = "upper bound",
) -> None:
    """Evaluate a run's policy at every level that has no figures yet, and write the figures.

    The episodes are those of the run's final evaluation. A budget that the policy cannot keep gets
    an entry "unreachable" with the reason.

    Args:
        path: the run's folder.
        config: the run's configuration.
        name: a name of `EXTRAS`.
        levels: thresholds or budgets.
        limits_by: what must be within a budget when a limit is chosen.
    """
    figures = read_extra(path, config.steps, name)
    missing = [level for level in levels if repr(level) not in figures]
    if not missing:
        return
    choose = _choices(EXTRAS[name], Policy.load(path), config, limits_by)
    for level in missing:
        figures[repr(level)] = _evaluate_at(level, choose, config)
        write_extra(path, config.steps, name, figures)


Choose = Callable[[float], tuple[Policy, dict[str, Any]]]
"""From a level to the policy to evaluate, and what else is recorded with its figures.

For a budget that is the return in calibration, "trials", the number of settings that were measured
for the choice, and "chosen_by", what of the measured oscillation had to be within the budget.
"""
UPPER_BOUND: Rule = "upper bound"


def _choices(extra: Extra, policy: Policy, config: RunConfig, limits_by: Rule) -> Choose:
    """Return how the policy of a level is chosen; measure on calibration episodes if needed."""
    env, episodes, kwargs = config.env, config.calibration_episodes, config.test_kwargs
    if not extra.budget:
        return lambda threshold: (policy.with_hysteresis(threshold), {})
    if extra.limits:
        strict = limits_by == UPPER_BOUND  # the first studies chose by the mean, and had others
        rows = within_limits(
            policy, env, episodes, config.seed, LIMITS, extra.tuned, kwargs, strict
        )

        def best(budget: float) -> tuple[Policy, dict[str, Any]]:
            chosen = best_within(rows, budget, limits_by)
            assert chosen.policy.limit is not None
            return chosen.policy, {
                "calibrated_return": chosen.figures[RETURN.name],
                "limit": str(chosen.policy.limit),
                "setting": chosen.policy.setting,
                "threshold": chosen.policy.hysteresis,
                "trials": len(rows),
                "chosen_by": limits_by,
            }

        return best
    if policy.repeats != (1,) and policy.spaces.actions.finite:
        return _as_it_is(policy, config)
    if extra.core:
        policy = policy.core()
    if not policy.spaces.actions.finite and not policy.traits.dial:
        return _filtered(BestFilter(policy, env, episodes, config.seed, kwargs))
    if policy.calibration is None:
        policy = calibrate(policy, env, episodes, config.seed, env_kwargs=kwargs)
    calibrated = policy

    def within(budget: float) -> tuple[Policy, dict[str, Any]]:
        dial = calibrated
        if not dial.spaces.actions.finite:  # filters are set as finely as this
            dial = refine(dial, env, budget, kwargs)
        assert dial.calibration is not None
        row = dial.calibration.within(budget)
        rule: Rule = "mean" if row.oscillation_bound is None else UPPER_BOUND
        about = {"trials": dial.calibration.trials, "chosen_by": rule}
        return dial.at_row(row), {"calibrated_return": row.figures[RETURN.name], **about}

    return within


def _filtered(filters: BestFilter) -> Choose:
    """Choose the best filter of a policy with Box actions at each budget."""

    def within(budget: float) -> tuple[Any, dict[str, Any]]:
        policy, name, row = filters.within(budget)
        about = {"filter": name, "setting": row.setting}
        about |= {"trials": filters.trials, "chosen_by": UPPER_BOUND}
        return policy, {"calibrated_return": row.figures[RETURN.name], **about}

    return within


def _as_it_is(policy: Policy, config: RunConfig) -> Choose:
    """Return the choice of a policy without a setting: it keeps a budget, or it does not."""
    episodes = config.calibration_episodes
    with opened(config.env, episodes, config.test_kwargs) as envs:
        evaluation = Episodes(envs, episodes, config.seed).run(policy)
    ratios = OSCILLATION.values(evaluation)
    assert ratios is not None, "every episode has an oscillation ratio"
    bound = upper_bound(ratios)
    about = {"calibrated_return": evaluation.summary()[RETURN.name]}
    about |= {"trials": 1, "chosen_by": UPPER_BOUND}

    def choose(budget: float) -> tuple[Policy, dict[str, Any]]:
        if bound > budget:
            raise InputError(
                f"{policy.method} holds its actions by itself, and its oscillation ratio is up to "
                f"{bound:.3g}: the budget {budget:g} is below that"
            )
        return policy, about

    return choose


def _evaluate_at(level: float, choose: Choose, config: RunConfig) -> dict[str, Any]:
    """Return the figures of the policy at one threshold or budget."""
    try:
        policy, about = choose(level)
    except InputError as error:
        return {"unreachable": str(error)}
    seed, kwargs = stream_seed(config.seed, Stream.FINAL), config.test_kwargs
    both = evaluate_both(policy, config.env, config.final_episodes, seed, env_kwargs=kwargs)
    figures = {actions: evaluation.summary() for actions, evaluation in both.items()}
    limit = getattr(policy, "limit", None)
    if isinstance(limit, Limit):
        distinct = {id(evaluation): evaluation.episodes for evaluation in both.values()}
        counts = [count_violations(e, limit.rate, limit.burst) for e in distinct.values()]
        about = {**about, "violations": sum(counts)}
    return {**figures, **about}


def serve(execute: Callable[[Job], None] | None = None) -> None:
    """Be a worker: read a job from each line of stdin, write its outcome to stdout.

    An env may print too, so outcomes go to a copy of stdout and prints go to stderr. When the
    study that started this process ends, stdin closes, and the worker ends as well: it saves a run
    that is under way. Ctrl-C in a terminal goes to all processes, and here the study answers it.

    Args:
        execute: See `attempt`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcomes = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs: Queue[Job] = Queue()

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(json.loads(line))
        if not request_stop():
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    try:
        while True:
            outcomes.write(json.dumps(asdict(attempt(jobs.get(), execute))) + "\n")
            outcomes.flush()
    except Stopped as stop:
        sys.exit(str(stop))


if __name__ == "__main__":
    use_one_thread()
    serve()
