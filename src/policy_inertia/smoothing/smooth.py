"""Make a policy that somebody has smooth: train a controller around it, and say what to use.

The core stays as it is. At the end the bare core, a hysteresis filter on it and the controller meet
on the same held-out episodes, and the best of them within the budget is recommended.
"""

from __future__ import annotations

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
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.envs.vector import EnvLike, Envs, episode_seed, name_of
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.machine import free_memory
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import read_spaces
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.settings import settings
from policy_inertia.smoothing.verdict import Candidate, Verdict, decide, measured
from policy_inertia.storage import FORMAT, claim, write_json
from policy_inertia.training.loop import Progress, default_folder, run

HELD_OUT = 4  # a stream of episode seeds beside those of training, evaluation and calibration
# the verdict has episodes of its own; a gate is as good as its critics, so they learn from much
SETTINGS = {"eval_episodes": 10, "final_episodes": 10, "batch_size": 256}


@dataclass(frozen=True)
class Smoothed:
    """What came of it: `policy` is the recommended one, `candidates` are all by name."""

    policy: Policy
    verdict: Verdict
    candidates: dict[str, Candidate]
    budget: float
    task: str
    episodes: int
    seconds: float
    memory: float  # of the whole process at its peak, in MB

    @property
    def recommended(self) -> str:
        """core, hysteresis or controller."""
        return self.verdict.name

    def to_dict(self) -> dict[str, Any]:
        """All of it but the policies, as JSON."""
        return {
            "recommended": self.verdict.name,
            "reason": self.verdict.reason,
            "budget": self.budget,
            "task": self.task,
            "episodes": self.episodes,
            "seconds": self.seconds,
            "memory_mb": self.memory,
            "candidates": {name: c.to_dict() for name, c in self.candidates.items()},
        }

    def __str__(self) -> str:
        head = f"{'':12} {'setting':>18}  {'oscillation':^22}  {'return':^24}  {'crashed':^20}"
        rows = [str(c) for c in self.candidates.values()]
        note = (
            f"Means and 95% intervals over {self.episodes} held-out episodes of {self.task}, with "
            "greedy actions: they speak of this one core, and of no other."
        )
        cost = f"{self.seconds:.0f} s, {self.memory:.0f} MB at most."
        return "\n".join([head, *rows, note, f"Recommended: {self.verdict}", cost])


def smooth(
    core: Any,
    env: EnvLike,
    budget: float | None = None,
    steps: int = 50_000,
    *,
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
    """Train a controller around `core`, which stays as it is, and recommend what to use.

    `core` is anything that `load_core` takes; `core_options` are that function's (`output`,
    `temperature`, `trust`, ...). `env` is a Gymnasium id, or a function that makes one.

    `budget` is the share of steps at which the policy may switch, by default half of what the core
    does; `loss` the share of the core's mean return that this may cost. The controller is a dial,
    or with `mu` the paper's learned inertia. For a share `warmup` of the `steps` the core is only
    watched, then the controller opens. With `hysteresis_only` nothing is trained.

    The run is kept in the folder `out`, and goes on from there with `resume`. `changes` are further
    settings of the run, as `train` takes them.
    """
    started = time.perf_counter()
    if not (isinstance(env, str) or callable(env)):
        raise InputError(
            f"the env is {type(env).__name__}, and several copies of it are needed: give its "
            "Gymnasium id, or a function that makes it"
        )
    if budget is not None and not 0 <= budget <= 1:
        raise InputError(
            f"the budget is {budget}: an oscillation ratio lies from 0 to 1, so give switches per "
            "step, such as 0.1"
        )
    for name, value in (("loss", loss), ("warmup", warmup)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}: it must be from 0 to 1")
    config = settings(
        "smooth-mu" if mu else "smooth",
        name_of(env),
        **{
            **SETTINGS,
            **({} if mu else {"refund": 0.1}),
            "steps": steps,
            "seed": seed,
            "eval_every": max(steps // 5, 1),
            "buffer_size": min(max(steps, 1_000), 200_000),
            "warmup": int(warmup * steps),
            "learning_starts": min(1_000, steps // 10),
            **changes,
        },
    )
    options = {"env_kwargs": config.env_kwargs, **(core_options or {})}
    core = _frozen(load_core(core, env, **options), env, config.env_kwargs)
    which = core_identity(core)
    spaces = SpacesWithCore.of_core(core)
    bare = Policy(
        "smooth (core)", which, spaces, (), task=config.env, env_kwargs=config.test_kwargs
    )
    folder = Path(out) if out is not None else None
    lock = None
    if hysteresis_only and folder is not None:
        lock = claim(folder, "smooth.json", "smoothed policy")
    controller = None
    if not hysteresis_only:
        _refuse_large(spaces, config.buffer_size)
        around: Any = config.config
        config = dataclasses.replace(config, config=dataclasses.replace(around, core=which))
        folder = folder or default_folder(config.env, config.method, config.seed)
        controller = run(config, folder, env, resume, progress, warn, spaces)
        if controller.calibration is None:  # mu: a filter around it meets the budget
            controller = calibrate(
                controller, env, config.calibration_episodes, seed, env_kwargs=config.test_kwargs
            )

    slots = Envs(env, min(episodes, 20), lambda i, k: 0, config.test_kwargs)
    first = episode_seed(seed, HELD_OUT)

    def meet(name: str, policy: Policy) -> Candidate:
        return measured(name, policy, evaluate(policy, slots, episodes, first, deterministic=True))

    try:
        found = {"core": meet("core", bare)}
        if budget is None:
            budget = found["core"].figures["oscillation_ratio"] / 2
        if core.kind != "action":  # hysteresis compares how good actions are
            filtered = calibrate(bare, slots, config.calibration_episodes, seed)
            found["hysteresis"] = meet("hysteresis", kept(filtered, budget))
        if controller is not None:
            found["controller"] = meet("controller", kept(controller, budget))
    finally:
        slots.close()
    verdict = decide(found, budget, loss)
    result = Smoothed(
        found[verdict.name].policy,
        verdict,
        found,
        budget,
        config.env,
        episodes,
        time.perf_counter() - started,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (1e6 if sys.platform == "darwin" else 1e3),
    )
    if folder is not None:
        result.policy.save(folder / "recommended.safetensors")
        write_json(folder / "smooth.json", {"format": FORMAT, **result.to_dict()})
    if lock is not None:
        lock.close()
    return result


def kept(policy: Policy, budget: float) -> Policy:
    """The policy at the budget by its calibration; where it is out of reach, at its smoothest."""
    try:
        return policy.with_budget(budget)
    except InputError:
        assert policy.calibration is not None
        rows = policy.calibration.rows
        return policy.with_setting(min(rows, key=lambda row: row.oscillation_ratio).setting)


def _frozen(core: Core, env: EnvLike, env_kwargs: dict[str, Any]) -> Core:
    """The core, if it can be one on this env."""
    if core.hysteresis is not None:
        raise InputError(f"{core} depends on its last action: give it without its hysteresis")
    _, given = read_spaces(env, env_kwargs)
    if given != core.spaces:
        raise InputError(
            f"{core.name} acts on {core.spaces} and {name_of(env)} has {given}: give the env that "
            "it was trained on"
        )
    return core


def _refuse_large(spaces: SpacesWithCore, buffer_size: int) -> None:
    need, free = 8.0 * spaces.spec.obs_dim * buffer_size, free_memory()
    if need > free:
        raise InputError(
            f"observations of {spaces.spec.obs_dim:,} numbers need {need / 1e9:.0f} GB of replay, "
            f"and {free / 1e9:.0f} GB of memory are free: give a smaller buffer_size, or "
            "hysteresis_only, which trains nothing"
        )
