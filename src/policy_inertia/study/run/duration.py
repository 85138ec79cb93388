"""Estimate how long a study will take from a few seconds of each kind of run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from policy_inertia.calibration.all_filters import LIMITS as LIMITS_ON_MOVEMENT
from policy_inertia.calibration.all_filters import RULES, wide_settings
from policy_inertia.calibration.filter_sweep import HALVINGS
from policy_inertia.calibration.first_settings import SETTINGS
from policy_inertia.calibration.within_limits import EVERY, LIMITS
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.methods import DISCRETE
from policy_inertia.run_settings import RunConfig
from policy_inertia.study.plan import EXTRAS, Extra, Run, Study
from policy_inertia.study.run.scheduler import done_or_recorded
from policy_inertia.study.run_records import Records
from policy_inertia.training.session import Session


@dataclass(frozen=True)
class Pace:
    """The cost of one kind of run, in seconds."""

    start: float
    step: float
    episode: float
    modes: int = 2  # greedy and sampled; 1 for a policy that acts the same in both

    def seconds(self, run: Run) -> float:
        """Return how long a run of this kind takes."""
        c = run.config
        evaluations = -(-c.steps // c.eval_every) + 1
        levels = sum(len(getattr(run, name)) for name in EXTRAS)
        final = c.final_episodes * self.modes * (1 + levels)
        sweeps = sum(
            _measurements(extra, c, len(getattr(run, name)))
            for name, extra in EXTRAS.items()
            if getattr(run, name)
        )
        final += sweeps * c.calibration_episodes
        episodes = evaluations * c.eval_episodes + final
        return self.start + c.steps * self.step + self.episode * episodes


def _measurements(extra: Extra, config: RunConfig, levels: int) -> int:
    """How many settings and limits an extra evaluation measures, about."""
    if not extra.budget:
        return 0
    traits = config.config.traits
    if config.actions != DISCRETE and (extra.core or not traits.dial):
        rules = LIMITS_ON_MOVEMENT if traits.nested and not extra.core else RULES
        return sum(len(wide_settings(rule)) for rule in rules.values()) + levels * HALVINGS
    if not extra.limits:
        return 2 * SETTINGS + 1
    return len(LIMITS) * (SETTINGS // EVERY if extra.tuned else 1)


@dataclass(frozen=True)
class LineDuration:
    """How long the runs of one line that are not done will take together, on one core."""

    label: str
    runs: int
    seconds: float


def remaining(
    study: Study,
    folder: Path,
    watch: Callable[[int, int], None] | None = None,
    records: Records | None = None,
) -> list[LineDuration]:
    """Estimate the time that each line of a study still needs.

    Args:
        study: the study.
        folder: the study's folder, with the runs that are done.
        watch: called after each kind of run with the number of timed kinds and of all kinds.
        records: a folder of records; a run that has one takes no time.
    """
    runs = [r for r in study.runs(folder) if not done_or_recorded(r, records)]
    lines: dict[str, list[float]] = {}
    for r, seconds in zip(runs, estimate(runs, watch=watch), strict=True):
        lines.setdefault(r.label.rpartition(", seed")[0], []).append(seconds)
    return [LineDuration(label, len(each), sum(each)) for label, each in lines.items()]


def estimate(
    runs: Sequence[Run], seconds: float = 1.0, watch: Callable[[int, int], None] | None = None
) -> list[float]:
    """Return the seconds that each run will take on one core.

    Args:
        runs: the runs.
        seconds: how long to time each kind of run.
        watch: called after each kind with the number of timed kinds and of all kinds.
    """
    kinds = {_kind(r.config): r.config for r in runs}
    paces = {}
    for i, (kind, config) in enumerate(kinds.items()):
        paces[kind] = measure(config, seconds)
        if watch is not None:
            watch(i + 1, len(kinds))
    return [paces[_kind(r.config)].seconds(r) for r in runs]


def _kind(config: RunConfig) -> tuple[str, str, str]:
    """Return what the cost of a run depends on; settings such as a temperature do not matter."""
    return config.method, config.env, str(config.env_kwargs)


def measure(config: RunConfig, seconds: float) -> Pace:
    """Train for some seconds and evaluate a few episodes, in this process."""
    began = time.perf_counter()
    session = Session(replace(config, learning_starts=config.batch_size), config.env)
    while session.updates == 0:
        session.advance()
    warm = time.perf_counter()
    first, now = session.step, warm
    while now - warm < seconds or session.step == first:
        session.advance()
        now = time.perf_counter()
    step = (now - warm) / (session.step - first)
    episodes = min(5, config.eval_episodes)
    policy = session.policy()
    # the first evaluation also makes the env, so only the second one is timed
    evaluate(policy, config.env, episodes, 0, env_kwargs=config.test_kwargs)
    evaluated = time.perf_counter()
    evaluate(policy, config.env, episodes, 1, env_kwargs=config.test_kwargs)
    episode = (time.perf_counter() - evaluated) / episodes
    session.envs.close()
    return Pace(warm - began, step, episode, 1 if policy.deterministic else 2)
