"""Make a policy smooth without changing it: train a controller around it, and recommend a policy.

At the end the bare core, the core with hysteresis and the core with the controller act on the same
held-out episodes. The best of them within the budget is recommended; with a limit on switching, the
best of them that keeps it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import policy_inertia.interop  # noqa: F401 - registers the loaders of `load_core`
from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.budget import best_setting, closest_to_budget
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.envs.making import EnvLike, name_of
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.files import claim
from policy_inertia.machine import free_memory
from policy_inertia.metrics.calibration_table import check_budget
from policy_inertia.metrics.measures import OSCILLATION
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.policy_file import CORE
from policy_inertia.policies.probing import read_spaces
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.smoothing.verdict import (
    Candidate,
    Verdict,
    comparison_table,
    decide,
    decide_within,
)
from policy_inertia.storage import FORMAT, write_json
from policy_inertia.training.loop import Progress, default_folder, run

"""Stream of episode seeds; training, evaluation and calibration use other streams."""
SETTINGS = {
    "eval_episodes": 10,  # few: the verdict has episodes of its own
    "final_episodes": 10,
    "batch_size": 256,  # large: a gate is only as good as its critics
}


@dataclass(frozen=True)
class Smoothed:
    """The result of `smooth`.

    Attributes:
        policy: The recommended policy.
        verdict: Its name and the reason.
        candidates: All policies that were compared, by name.
        budget: Largest oscillation ratio that was allowed; None with a limit.
        limit: The limit on switching that every policy but the core keeps; None with a budget.
        task: The env's name.
        episodes: Number of held-out episodes.
        seconds: Duration of everything.
        memory: Peak memory of the whole process, in MB.
    """

    policy: Policy
    verdict: Verdict
    candidates: dict[str, Candidate]
    budget: float | None
    task: str
    episodes: int
    seconds: float
    memory: float
    limit: Limit | None = None

    @property
    def recommended(self) -> str:
        """The name of the recommended policy: core, filter, hysteresis or controller."""
        return self.verdict.name

    def to_dict(self) -> dict[str, Any]:
        """Everything except the policies, as JSON."""
        return {
            "recommended": self.verdict.name,
            "reason": self.verdict.reason,
            "budget": self.budget,
            "limit": self.limit and self.limit.to_dict(),
            "task": self.task,
            "episodes": self.episodes,
            "seconds": self.seconds,
            "memory_mb": self.memory,
            "candidates": {name: c.to_dict() for name, c in self.candidates.items()},
        }

    def __str__(self) -> str:
        note = (
            f"Means and 95% intervals over {self.episodes} held-out episodes of {self.task}, with "
            "greedy actions. They describe this core only, not other cores."
        )
        cost = f"{self.seconds:.0f} s, {self.memory:.0f} MB at most."
        table = comparison_table(self.candidates.values())
        return "\n".join([table, note, f"Recommended: {self.verdict}", cost])


def smooth(
    core: Any,
    env: EnvLike,
    budget: float | None = None,
    steps: int = 50_000,
    *,
    limit: Limit | None = None,
    hysteresis_only: bool = False,
    mu: bool = False,
    loss: float = 0.05,
    warmup: float = 0.05,
    episodes: int = 100,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    core_options: dict[str, Any] | None = None,
    **changes: Any,
) -> Smoothed:
    """Train a controller around `core`, which is not changed, and recommend a policy.

    Args:
        core: The policy to make smooth: anything that `load_core` takes.
        env: A Gymnasium id, or a function that makes the env.
        budget: Largest share of steps at which the policy may switch its action; by default half
            of what the core does.
        steps: Env steps of training.
        limit: Instead of a budget, a limit on switching that is always kept: by a filter, by
            hysteresis inside the limit, and by a controller that plans with it.
        hysteresis_only: Do not train; compare only the core with and without filters.
        mu: Train the paper's learned inertia instead of a dial.
        loss: Largest share of the core's mean return that smoothing may cost.
        warmup: Share of the steps in which the controller only watches the core.
        episodes: Held-out episodes on which the policies are compared.
        seed: Seed of training and of all episodes.
        out: Folder of the run; by default a new one under runs/.
        resume: Continue the run in `out`.
        progress: Called after each evaluation.
        warn: Called with each warning.
        core_options: Options of `load_core`: `output`, `temperature`, `trust`, ...
        **changes: Further settings of the run, as `train` takes them.

    Raises:
        InputError: An argument is wrong, or the core does not fit the env.
    """
    started = time.perf_counter()
    _check_arguments(env, budget, limit, loss, warmup)
    config = _run_settings(env, steps, mu, limit, warmup, seed, changes)
    options = {"env_kwargs": config.env_kwargs, **(core_options or {})}
    core = _check_core(load_core(core, env, **options), env, config.env_kwargs)
    bare = _bare_policy(core, config)
    others = {} if limit is None else {"filter": bare}
    if core.kind != "action":  # hysteresis compares scores, which such a core does not have
        others["hysteresis"] = bare
    folder = Path(out) if out is not None else None
    with contextlib.ExitStack() as stack:
        if not hysteresis_only:
            folder = folder or default_folder(config.env, config.method, config.seed)
            others["controller"] = _train(config, folder, env, bare, resume, progress, warn)
        elif folder is not None:
            stack.enter_context(claim(folder, "smooth.json", "smoothed policy"))
        candidates, verdict, budget = _compare(
            bare, others, env, config, budget, limit, episodes, loss
        )
        result = Smoothed(
            candidates[verdict.name].policy,
            verdict,
            candidates,
            budget,
            config.env,
            episodes,
            time.perf_counter() - started,
            _peak_memory(),
            limit,
        )
        if folder is not None:
            result.policy.save(folder / "recommended.safetensors")
            write_json(folder / "smooth.json", {"format": FORMAT, **result.to_dict()})
    return result


def _check_arguments(
    env: Any, budget: float | None, limit: Limit | None, loss: float, warmup: float
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


def _run_settings(
    env: EnvLike,
    steps: int,
    mu: bool,
    limit: Limit | None,
    warmup: float,
    seed: int,
    changes: dict[str, Any],
) -> RunConfig:
    """The settings of the training run; `changes` win over all others."""
    method = "smooth-mu" if mu else "smooth" if limit is None else "smooth-limit"
    if limit is not None and not mu:  # learn for this limit alone
        changes = {"rate": limit.rate, "largest_burst": float(limit.burst), **changes}
    return settings(
        method,
        name_of(env),
        **{
            **SETTINGS,
            "steps": steps,
            "seed": seed,
            "eval_every": max(steps // 5, 1),
            "buffer_size": min(max(steps, 1_000), 200_000),
            "warmup": int(warmup * steps),
            "learning_starts": min(1_000, steps // 10),
            **changes,
        },
    )


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


def _bare_policy(core: Core, config: RunConfig) -> Policy:
    """The core alone, as a policy."""
    return Policy(
        f"smooth{CORE}",
        core_identity(core),
        SpacesWithCore.of_core(core),
        (),
        task=config.env,
        env_kwargs=config.test_kwargs,
    )


def _train(
    config: RunConfig,
    folder: Path,
    env: EnvLike,
    bare: Policy,
    resume: bool,
    progress: Progress | None,
    warn: Callable[[str], None],
) -> Policy:
    """Train a controller around the core of `bare`."""
    _refuse_large(bare.spaces.spec.obs_dim, config.buffer_size)
    around: Any = config.config
    config = dataclasses.replace(config, config=dataclasses.replace(around, core=bare.config))
    return run(config, folder, env, resume, progress, warn, bare.spaces)


def _compare(
    bare: Policy,
    others: dict[str, Policy],
    env: EnvLike,
    config: RunConfig,
    budget: float | None,
    limit: Limit | None,
    episodes: int,
    loss: float,
) -> tuple[dict[str, Candidate], Verdict, float | None]:
    """Evaluate the core, and the other policies at the budget or the limit, on the same episodes.

    Returns:
        The candidates by name, the verdict, and the budget: without a limit, half of what the core
        does if none was given.
    """
    slots = Envs(env, min(episodes, 20), lambda i, k: 0, config.test_kwargs)
    first = stream_seed(config.seed, Stream.HELD_OUT)

    def candidate(name: str, policy: Policy) -> Candidate:
        evaluation = evaluate(policy, slots, episodes, first, deterministic=True)
        return Candidate.of_evaluation(name, policy, evaluation)

    def calibrated(policy: Policy) -> Policy:
        return calibrate(policy, slots, config.calibration_episodes, config.seed)

    try:
        candidates = {"core": candidate("core", bare)}
        if limit is not None:
            for name, policy in others.items():
                limited = policy.within(limit)
                plans = policy.largest_burst is not None
                if name != "filter" and not plans:  # its threshold is best inside the limit
                    limited = best_setting(calibrated(limited))
                candidates[name] = candidate(name, limited)
            return candidates, decide_within(candidates, limit, loss), None
        if budget is None:
            budget = candidates["core"].figures[OSCILLATION.name] / 2
        for name, policy in others.items():
            # the paper's inertia has no dial: hysteresis around it meets the budget
            policy = policy if policy.calibration is not None else calibrated(policy)
            candidates[name] = candidate(name, closest_to_budget(policy, budget))
    finally:
        slots.close()
    return candidates, decide(candidates, budget, loss), budget


def _refuse_large(obs_dim: int, buffer_size: int) -> None:
    need, free = 8.0 * obs_dim * buffer_size, free_memory()
    if need > free:
        raise InputError(
            f"observations of {obs_dim:,} numbers need {need / 1e9:.0f} GB of replay, "
            f"and {free / 1e9:.0f} GB of memory are free: give a smaller buffer_size, or "
            "hysteresis_only, which trains nothing"
        )


def _peak_memory() -> float:
    """Peak memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # macOS counts bytes, Linux kB
