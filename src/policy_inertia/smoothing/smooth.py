"""Make a policy smooth without changing it, with as little as it takes, and recommend a policy.

First the core is measured, then a filter, which takes seconds. Only if that is not enough, a
controller is trained around the core. All of them act on the same held-out episodes. The best one
within the budget is recommended; with a limit on switching, the best one that keeps it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import policy_inertia.interop  # noqa: F401 - registers the loaders of `load_core`
from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.measurements import opened
from policy_inertia.envs.making import EnvLike, copyable, name_of
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import check_budget
from policy_inertia.policies.core_policy import core_policy
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import read_spaces
from policy_inertia.policies.spaces_with_core import core_identity
from policy_inertia.smoothing.controller import (
    Training,
    controller_settings,
    refuse_large,
)
from policy_inertia.smoothing.goals import BudgetGoal, Goal, LimitGoal
from policy_inertia.smoothing.lab import Lab, Watch
from policy_inertia.smoothing.smooth_folder import SmoothFolder, folder_name
from policy_inertia.smoothing.smoothed import Smoothed
from policy_inertia.smoothing.verdict import Candidate, Stakes, Verdict
from policy_inertia.training.loop import Progress


def smooth(
    core: Any,
    env: EnvLike,
    budget: float | None = None,
    steps: int = 50_000,
    *,
    limit: Limit | None = None,
    train: bool = False,
    hysteresis_only: bool = False,
    mu: bool = False,
    loss: float = 0.05,
    warmup: float = 0.05,
    episodes: int = 200,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
    warn: Callable[[str], None] = warnings.warn,
    core_options: dict[str, Any] | None = None,
    **changes: Any,
) -> Smoothed:
    """Make `core` smooth without changing it, and recommend a policy.

    Stops at the core if it already meets the budget, and at a filter if it meets the budget without
    a loss. Else it trains a controller around the core.

    Args:
        core: The policy to make smooth: anything that `load_core` takes.
        env: A Gymnasium id, a function that makes the env, or an env, of which copies are made by
            its spec.
        budget: Largest share of steps at which the policy may switch its action; by default half
            of what the core does.
        steps: Env steps of training.
        limit: Instead of a budget, a limit on switching that is always kept: by a filter, by
            hysteresis inside the limit, and by a controller that plans with it.
        train: Train a controller even if the core or a filter is good enough.
        hysteresis_only: Do not train; compare only the core with and without filters.
        mu: Train the paper's learned inertia instead of a dial.
        loss: Largest loss of return, as a share of what the core gains over random actions. The
            upper end of the loss's 95% interval must be within it.
        warmup: Share of the steps in which the controller only watches the core.
        episodes: Held-out episodes on which the policies are compared.
        seed: Seed of training and of all episodes.
        out: Folder for the result; by default one under runs/ if a controller is trained.
        resume: Continue in the folder `out`.
        progress: Called after each evaluation in training.
        watch: Called as the other stages go on.
        warn: Called with each warning.
        core_options: Options of `load_core`: `output`, `normalise`, `temperature`, `trust`, ...
        **changes: Further settings of the run, as `train` takes them.

    Raises:
        InputError: An argument is wrong, or the core does not fit the env.
    """
    env, env_kwargs = copyable(env, changes.get("env_kwargs"))
    changes |= {"env_kwargs": env_kwargs} if env_kwargs else {}
    _check_arguments(env, budget, limit, loss, warmup, episodes)
    if train and hysteresis_only:
        raise InputError("train and hysteresis_only contradict each other: give one of them")
    config = controller_settings(env, steps, mu, limit, warmup, seed, changes)
    options = {"env_kwargs": config.env_kwargs, "warn": warn, **(core_options or {})}
    core = _check_core(load_core(core, env, **options), env, config.env_kwargs)
    bare = core_policy(core, config.env, config.test_kwargs)
    if train:
        refuse_large(bare.spaces.spec.obs_dim, config.buffer_size)
    with contextlib.ExitStack() as stack:
        folder, training = None, None
        if out is not None or not hysteresis_only:
            path = Path(out or folder_name(config.env, core.name, config.method, seed))
            folder = SmoothFolder(path, core_identity(core), resume)
            stack.callback(folder.close)
        if folder is not None and not hysteresis_only:
            training = Training(config, folder.controller, env, bare, resume, progress, warn)
        envs = stack.enter_context(opened(env, episodes, config.test_kwargs))
        lab, asked = Lab(envs, config, episodes, watch), Asked(budget, limit, loss, train)
        result = _answer(lab, bare, asked, core.kind != "action", training)
        if folder is not None:
            folder.save(result)
    return result


class Asked(NamedTuple):
    """What is asked for; see `smooth`."""

    budget: float | None
    limit: Limit | None
    loss: float
    train: bool


def _answer(
    lab: Lab, bare: Policy, asked: Asked, has_scores: bool, training: Training | None
) -> Smoothed:
    """Measure, train if it is needed, and recommend a policy."""
    started = time.perf_counter()
    stakes = Stakes(lab.candidate("core", bare), lab.random_return(), asked.loss)
    budget = asked.budget
    if budget is None and asked.limit is None:
        budget = stakes.core.oscillation / 2
    goal = _goal(budget, asked.limit)
    candidates, verdict = _compare(goal, stakes, lab, has_scores, training, asked.train)
    tables = {name: goal.frontier(candidate.policy) for name, candidate in candidates.items()}
    return Smoothed(
        candidates[verdict.name].policy,
        verdict,
        candidates,
        stakes,
        budget,
        asked.limit,
        lab.config.env,
        lab.episodes,
        "controller" in candidates,
        time.perf_counter() - started,
        _peak_memory(),
        {name: table for name, table in tables.items() if table is not None},
    )


def _goal(budget: float | None, limit: Limit | None) -> Goal:
    if limit is not None:
        return LimitGoal(limit)
    assert budget is not None
    return BudgetGoal(budget)


def _compare(
    goal: Goal,
    stakes: Stakes,
    lab: Lab,
    has_scores: bool,
    training: Training | None,
    always: bool,
) -> tuple[dict[str, Candidate], Verdict]:
    """Try the core, then filters, then a controller, until one is good enough.

    Args:
        goal: The budget or the limit.
        stakes: The core, random actions and the loss that is allowed.
        lab: Where policies are evaluated.
        has_scores: Whether the core has scores that hysteresis can compare.
        training: Trains a controller; None to train nothing.
        always: Train even if the core or a filter is good enough.

    Returns:
        The candidates by name, and the verdict.
    """
    bare, candidates = stakes.core.policy, {stakes.core.name: stakes.core}
    verdict = goal.core_verdict(stakes)
    if verdict is not None and not always:
        return candidates, verdict
    for name in goal.filters(has_scores):
        candidates[name] = lab.candidate(name, goal.adjusted(bare, name, lab))
    if len(candidates) > 1 or training is None:
        verdict = goal.decide(candidates, stakes)
        if training is None or (verdict.met and not always):
            return candidates, verdict
    trained = training.run(lab.counting("the last controller"))
    best = trained[goal.best(trained, lab)]
    candidates["controller"] = lab.candidate("controller", goal.adjusted(best, "controller", lab))
    return candidates, goal.decide(candidates, stakes)


def _check_arguments(
    env: Any,
    budget: float | None,
    limit: Limit | None,
    loss: float,
    warmup: float,
    episodes: int,
) -> None:
    if not (isinstance(env, str) or callable(env)):
        raise InputError(
            f"the env is {type(env).__name__}, and several copies of it are needed: give its "
            "Gymnasium id, or a function that makes it"
        )
    if budget is not None:
        check_budget(budget)
        if limit is not None:
            raise InputError(
                f"the budget is {budget} and the limit {limit}: give a budget, which is a measured "
                "mean, or a limit, which is always kept"
            )
    for name, value in (("loss", loss), ("warmup", warmup)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}: it must be from 0 to 1")
    if episodes < 2:
        raise InputError(f"episodes is {episodes}: an interval needs at least 2")


def _check_core(core: Core, env: EnvLike, env_kwargs: dict[str, Any]) -> Core:
    """The core itself; raise if it has a memory or does not fit the env."""
    if core.filters:
        raise InputError(
            f"{core} depends on its last action: give it without hysteresis and without a limit"
        )
    _, spaces = read_spaces(env, env_kwargs)
    if spaces != core.spaces:
        raise InputError(
            f"{core.name} acts on {core.spaces} and {name_of(env)} has {spaces}: give the env that "
            "it was trained on"
        )
    return core


def _peak_memory() -> float:
    """Peak memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # macOS counts bytes, Linux kB
