"""Make a policy smooth without changing it, with as little as it takes, and recommend a policy.

First the core is measured, then filters, which takes seconds. Only if that is not enough, a
controller is trained around the core. All of them act on the same held-out episodes. The best one
within the budget is recommended; with a limit, the best one that keeps it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import policy_inertia.interop  # noqa: F401 - registers the loaders of `load_core`
from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.calibration.measurements import opened
from policy_inertia.envs.making import EnvLike, copyable, name_of
from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.action_filter import Dimension
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.core_policy import core_policy, spaces_around
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import read_spaces
from policy_inertia.policies.spaces_with_core import core_identity
from policy_inertia.run_settings import RunConfig
from policy_inertia.smoothing.action_rows import KINDS, Kind
from policy_inertia.smoothing.controller import (
    Training,
    controller_settings,
    refuse_large,
)
from policy_inertia.smoothing.goals import Goal, TrainableGoal
from policy_inertia.smoothing.lab import Lab, Watch
from policy_inertia.smoothing.measured import Measured
from policy_inertia.smoothing.smooth_folder import SmoothFolder, folder_name
from policy_inertia.smoothing.smoothed import Smoothed
from policy_inertia.smoothing.verdict import Candidate, Stakes, Verdict
from policy_inertia.training.loop import Progress
from policy_inertia.training.trackers.table import find_trackers


def smooth(
    core: Any,
    env: EnvLike,
    budget: float | None = None,
    steps: int = 50_000,
    *,
    max_fluctuation: float | None = None,
    limit: Limit | MovementLimit | tuple[float, float] | None = None,
    dwell: int = 1,
    costs: Any = None,
    train: bool = False,
    hysteresis_only: bool = False,
    mu: bool = False,
    loss: float = 0.05,
    safe: float | None = None,
    warmup: float = 0.05,
    episodes: int = 200,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
    warn: Callable[[str], None] = warnings.warn,
    core_options: dict[str, Any] | None = None,
    dimensions: Sequence[Dimension] | None = None,
    log: Sequence[str] = (),
    measured: Measured | None = None,
    **changes: Any,
) -> Smoothed:
    """Make `core` smooth without changing it, and recommend a policy; train only if filters fail.

    Args:
        core: The policy to make smooth: anything that `load_core` takes.
        env: A Gymnasium id, a function that makes the env, or an env that its spec can copy.
        budget: Largest oscillation ratio, or action fluctuation; by default half of the core's.
        steps: Env steps of training.
        max_fluctuation: The budget of continuous actions by its own name.
        limit: A limit that is always kept: on switching, instead of a budget, or on movement.
        dwell: Hold every action for at least so many steps; see `with_dwell`.
        costs: What each switch costs: a table for `with_costs`, with which a controller learns too.
        train: Train a controller even if the core or a filter is good enough.
        hysteresis_only: Do not train; compare only the core with and without filters.
        mu: Train the paper's learned inertia instead of a dial.
        loss: Largest loss, by its 95% interval, as a share of the core's gain over random actions.
        safe: Confidence with which a test must exclude a larger loss; see `safety`.
        warmup: Share of the steps in which the controller only watches the core.
        episodes: Held-out episodes on which the policies are compared.
        seed: Seed of training and of all episodes.
        out: Folder for the result; by default one under runs/ if a controller is trained.
        resume: Continue in the folder `out`; warn if there is nothing to continue.
        progress: Called after each evaluation in training.
        watch: Called as the other stages go on.
        warn: Called with each warning.
        core_options: Options of `load_core`: `output`, `normalise`, `temperature`, `trust`, ...
        dimensions: What each number of a continuous action means; see `with_dimensions`.
        log: Names of trackers that get the figures of the training, such as "mlflow".
        measured: What calls with other budgets have measured, and this one need not repeat.
        **changes: Further settings of the run, as `train` takes them.

    Raises:
        InputError: An argument is wrong, or the core does not fit the env.
    """
    env, env_kwargs = copyable(env, changes.get("env_kwargs"))
    changes |= {"env_kwargs": env_kwargs} if env_kwargs else {}
    _check_arguments(env, loss, warmup, episodes, log, safe)
    options = {"env_kwargs": env_kwargs, "warn": warn, **(core_options or {})}
    core = _check_core(load_core(core, env, **options), env, env_kwargs, dimensions)
    asked = _asked(core, budget, max_fluctuation, limit, (costs, dwell), loss, train, safe)
    trains = _trains(asked, core, hysteresis_only, mu)
    actions = core.spaces.actions.kind
    config = controller_settings(env, actions, steps, mu, asked, warmup, seed, changes)
    bare = _bare_policy(core, config, train)
    with contextlib.ExitStack() as stack:
        folder = _folder(stack, core, config, out, resume, warn) if out or trains else None
        about = (env, core, resume, progress, warn, log)
        training = Training(config, folder.controller, *about) if folder and trains else None
        envs = stack.enter_context(opened(env, episodes, config.test_kwargs))
        result = _answer(Lab(envs, config, episodes, watch, measured), bare, asked, training)
        return result if folder is None else folder.save(result)


def _folder(
    stack: contextlib.ExitStack,
    core: Any,
    config: RunConfig,
    out: str | os.PathLike[str] | None,
    resume: bool,
    warn: Callable[[str], None],
) -> SmoothFolder:
    """The folder that was asked for, or else the one of this core; `stack` closes it."""
    identity = core_identity(core)
    own = folder_name(config.env, core.name, identity.digest, config.method, config.seed)
    folder = SmoothFolder(Path(out or own), identity, resume, warn)
    stack.callback(folder.close)
    return folder


class Asked(NamedTuple):
    """What is asked for; see `smooth`."""

    kind: Kind
    budget: float | None
    limit: Any
    loss: float
    train: bool
    safe: float | None = None
    rules: Switching | None = None

    @property
    def learned(self) -> Limit | None:
        """The limit that a controller plans with."""
        return self.limit if self.kind.plans else None


def _answer(lab: Lab, bare: Any, asked: Asked, training: Training | None) -> Smoothed:
    """Measure, train if it is needed, and recommend a policy."""
    started, wording = time.perf_counter(), asked.kind.wording
    core = lab.measured.once("core", lambda: lab.candidate("core", bare))
    if wording.measure.name not in core.values:
        raise InputError(
            f"an episode has a single step, so its {wording.measure.label} is not known: give an "
            "env whose episodes are longer"
        )
    random = lab.measured.once("random", lambda: lab.random_returns(bare.spaces.masked))
    stakes = Stakes(core, float(random.mean()), asked.loss, wording)
    if asked.safe is not None:
        lab.test_safety(core, random, asked.loss, asked.safe)
    budget = asked.budget
    if budget is None and asked.limit is None:
        budget = stakes.amount(core) / 2
    goal: Any = asked.kind.goal(budget, asked.limit, asked.rules)
    controller = None if training is None else partial(_controller, goal, training, lab)
    candidates, verdict = _compare(goal, stakes, lab, controller, asked.train)
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
        asked.rules,
        goal.frontiers(candidates),
    )


def _controller(goal: TrainableGoal, training: Training, lab: Lab) -> Policy:
    """Train controllers, and return the best one at the setting that suits the goal."""
    trained = lab.measured.once(
        "trained", lambda: training.run(lab.counting("the last controller"))
    )
    return goal.adjusted(trained[goal.best(trained, lab)], "controller", lab)


def _compare(
    goal: Goal,
    stakes: Stakes,
    lab: Lab,
    controller: Callable[[], Policy] | None,
    always: bool,
) -> tuple[dict[str, Candidate], Verdict]:
    """Try the core, then filters, then a controller, until one is good enough.

    Args:
        goal: The budget or the limit.
        stakes: The core, random actions and the loss that is allowed.
        lab: Where policies are evaluated.
        controller: Trains a controller; None to train nothing.
        always: Train even if the core or a filter is good enough.

    Returns:
        The candidates by name, and the verdict.
    """
    bare, candidates = stakes.core.policy, {stakes.core.name: stakes.core}
    verdict = goal.core_verdict(stakes)
    if verdict is not None and not always:
        return candidates, verdict
    for name, policy in goal.filtered(bare, lab):
        candidates[name] = lab.candidate(name, policy)
    if len(candidates) > 1 or controller is None:
        verdict = goal.decide(candidates, stakes)
        if controller is None or (verdict.met and not always):
            return candidates, verdict
    candidates["controller"] = lab.candidate("controller", controller())
    return candidates, goal.decide(candidates, stakes)


def _bare_policy(core: Any, config: RunConfig, train: bool) -> Any:
    """The core as a policy; raise if a replay buffer will be needed and is too large."""
    bare = core_policy(core, config.env, config.test_kwargs)
    if train:
        refuse_large(spaces_around(core).spec.obs_dim, config.buffer_size)
    return bare


def _check_arguments(
    env: Any,
    loss: float,
    warmup: float,
    episodes: int,
    log: Sequence[str],
    safe: float | None,
) -> None:
    find_trackers(log)
    if not (isinstance(env, str) or callable(env)):
        raise InputError(
            f"the env is {type(env).__name__}, and several copies of it are needed: give its "
            "Gymnasium id, or a function that makes it"
        )
    for name, value in (("loss", loss), ("warmup", warmup)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}: it must be from 0 to 1")
    if safe is not None and not 0.5 <= safe < 1:
        raise InputError(f"safe is {safe}: give a confidence from 0.5 to below 1, such as 0.95")
    if episodes < 2:
        raise InputError(f"episodes is {episodes}: an interval needs at least 2")


def _asked(
    core: Any,
    budget: float | None,
    max_fluctuation: float | None,
    limit: Any,
    rules: tuple[Any, int],
    loss: float,
    train: bool,
    safe: float | None,
) -> Asked:
    """What is asked for, checked against the kind of the core's actions."""
    kind = KINDS[core.spaces.actions.kind]
    bound = kind.limit_of(limit)
    budget = _budget(kind, budget, max_fluctuation, bound)
    return Asked(kind, budget, bound, loss, train, safe, kind.rules_of(*rules))


def _budget(
    kind: Kind, budget: float | None, max_fluctuation: float | None, limit: Any
) -> float | None:
    """The budget, under whichever name it was given; None if none was."""
    if max_fluctuation is not None:
        if budget is not None:
            raise InputError(
                f"the budget is {budget} and max_fluctuation {max_fluctuation}: give one of them"
            )
        if not kind.budget_name:
            raise InputError(
                f"max_fluctuation is {max_fluctuation}, and the actions are Discrete: give budget, "
                "the share of the steps at which they may switch"
            )
        budget = max_fluctuation
    if budget is None:
        return None
    kind.check_budget(budget)
    if limit is not None and not kind.together:
        raise InputError(
            f"the budget is {budget} and the limit {limit}: give a budget, which is a measured "
            "mean, or a limit, which is always kept"
        )
    return budget


def _trains(asked: Asked, core: Any, hysteresis_only: bool, mu: bool) -> bool:
    """Whether a controller may be trained; raise if the flags contradict each other."""
    if asked.train and hysteresis_only:
        raise InputError("train and hysteresis_only contradict each other: give one of them")
    if mu and asked.kind.no_inertia:
        raise InputError(f"mu asks for the paper's inertia, which {asked.kind.no_inertia}")
    obstacle = asked.kind.obstacle(core, asked.limit)
    if asked.train and obstacle:
        raise InputError(f"train asks for a trained controller, and {obstacle}, or leave it out")
    return not obstacle and not hysteresis_only


def _check_core(
    core: Any, env: EnvLike, env_kwargs: dict[str, Any], dimensions: Sequence[Dimension] | None
) -> Any:
    """The core with its dimensions; raise if it has a memory or does not fit the env."""
    if core.filters:
        raise InputError(
            f"{core} depends on its last action: give it without its filters, such as hysteresis "
            "or a limit"
        )
    _, spaces = read_spaces(env, env_kwargs)
    if spaces != core.spaces:
        raise InputError(
            f"{core.name} acts on {core.spaces} and {name_of(env)} has {spaces}: give the env that "
            "it was trained on"
        )
    if dimensions is None:
        return core
    return KINDS[core.spaces.actions.kind].declared(core, dimensions)


def _peak_memory() -> float:
    """Peak memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # macOS counts bytes, Linux kB
