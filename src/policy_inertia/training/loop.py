"""Carrying out a run: train, evaluate, log, save, until it is done."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from policy_inertia.calibration.sweep import calibrate
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import EnvLike, Envs, episode_seed, name_of
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import both_ways, evaluate
from policy_inertia.policies.policy import Policy
from policy_inertia.settings import RunConfig, settings
from policy_inertia.storage import FORMAT, finite, write_json
from policy_inertia.training.run_folder import RunFolder
from policy_inertia.training.session import EVALUATION, FINAL, Session

PROGRESS = (0.0, 0.1, 1.0)  # where a dial is looked at in training, in shares of its largest price

Progress = Callable[[int, dict[str, Any], float], None]
"""Called with the step, the newest figures and the steps per second since the start."""


def train(
    method: str,
    env: EnvLike,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **changes: Any,
) -> Policy:
    """Train `method` on `env`, an id or a function that makes an env, and return the policy.

    `changes` are settings of the run (`steps`, `seed`, `envs`, ...) or of the method (`mu0`,
    `temperature`, ..., `core={...}`). Everything is kept in the folder `out`.
    """
    config = settings(method, name_of(env), **changes)
    return run(config, out or default_folder(config), env, resume, progress)


def default_folder(config: RunConfig) -> Path:
    return default_folder_of(config.env, config.method, config.seed)


def default_folder_of(env: str, method: str, seed: int) -> Path:
    env = env.replace("/", "-").replace(":", "-")
    return Path("runs") / f"{env}-{method}-{seed}"


def run(
    config: RunConfig,
    out: str | os.PathLike[str],
    env: EnvLike | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    spaces: Spaces | None = None,
) -> Policy:
    """Carry out one run in the folder `out`.

    `env` is needed only for an env that has no Gymnasium id: a function that makes one. With
    `resume` a stopped run goes on from its last checkpoint and ends bit for bit like one that was
    never stopped; a folder without a run is then simply started. `spaces` are the env's own unless
    a frozen core adds its answers to the observations.
    """
    env = env if env is not None else config.env
    session = Session(config, env, spaces)  # before the folder: a bad env leaves nothing behind
    folder = RunFolder(Path(out), config.to_dict(), resume)
    try:
        return _run(config, env, session, folder, progress, warn)
    finally:
        folder.close()
        session.envs.close()


def _run(
    config: RunConfig,
    env: EnvLike,
    session: Session,
    folder: RunFolder,
    progress: Progress | None,
    warn: Callable[[str], None],
) -> Policy:
    best, next_eval, size = -np.inf, 0, 0
    saved = folder.checkpoints.load()
    begun = saved is not None
    if saved is not None:
        if folder.changed:
            warn(
                f"{folder.path} was begun with other versions ({', '.join(folder.changed)}): it "
                "goes on, but may not end bit for bit like a run of one version"
            )
        if not session.restore(*saved, folder.path):
            warn(
                f"{name_of(env)} did not come back to its saved state (it is not deterministic "
                "given its seed): the running episodes go on from where they replayed to"
            )
        best, next_eval, size = (saved[2][k] for k in ("best", "next_eval", "metrics_size"))
        best = -np.inf if best is None else best
    del saved  # its replay is still a file, whose room on the disk is free only without readers
    folder.rewind(size, session.step if begun else None)

    slots = Envs(env, min(config.eval_episodes, 20), lambda i, k: 0, config.test_kwargs)
    started = last_save = time.perf_counter()
    first_step, figures = session.step, dict[str, Any]()

    def speed() -> float:
        return (session.step - first_step) / (time.perf_counter() - started)

    def mark() -> None:
        """Evaluate, log, and keep what is worth keeping."""
        nonlocal best, next_eval, last_save, figures
        policy = session.policy()
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(policy.params)):
            raise InputError(
                f"training diverged before step {session.step} (the networks hold NaN): lower the "
                "learning rate or scale the rewards; the last checkpoint is untouched"
            )
        seed = episode_seed(config.seed, EVALUATION, session.step)
        summary = evaluate(policy, slots, config.eval_episodes, seed).summary()
        figures = session.figures() | tags(summary) | _dial_figures(policy, slots, config, seed)
        folder.log(session.step, figures, speed())
        if summary["return"] > best:
            best = summary["return"]
            policy.save(folder.path / "best.safetensors")
        next_eval = (session.step // config.eval_every + 1) * config.eval_every
        now = time.perf_counter()
        if session.step >= config.steps or now - last_save >= config.checkpoint_seconds:
            arrays, state = session.state()
            state |= {"best": finite(float(best)), "next_eval": next_eval}
            state["metrics_size"] = folder.metrics_size
            folder.checkpoints.save(str(session.step), arrays, session.replay.state(), state)
            last_save = now

    if not begun:
        mark()
    while session.step < config.steps:
        session.advance()
        due = session.step >= min(next_eval, config.steps)
        if due:
            mark()
        if progress is not None and (due or session.step % (32 * config.envs) == 0):
            progress(session.step, figures, speed())

    policy = session.policy()
    if policy.price is not None:
        policy = calibrate(policy, slots, config.calibration_episodes, config.seed)
    policy.save(folder.path / "policy.safetensors")
    last = (slots, config.final_episodes, episode_seed(config.seed, FINAL))
    result: dict[str, Any] = both_ways(policy, *last)
    if policy.nested:
        result["core"] = evaluate(policy.core(), *last).summary()
    if policy.calibration is not None:
        result["calibration"] = policy.calibration.to_dict()
    write_json(folder.path / "result.json", {"format": FORMAT, "step": session.step, **result})
    slots.close()
    return policy


def _dial_figures(policy: Policy, slots: Envs, config: RunConfig, seed: int) -> dict[str, Any]:
    """Return and oscillation at three settings of a dial; nothing for other policies."""
    if policy.largest_price is None:
        return {}
    figures: dict[str, Any] = {"dial/largest_price": policy.largest_price}
    for share in PROGRESS:
        at = policy.at(share * policy.largest_price)
        summary = evaluate(at, slots, config.eval_episodes, seed, deterministic=True).summary()
        for name, key in (("mean_reward", "return"), *((k, k) for k in _DIAL_KEYS)):
            if summary[key] is not None:
                figures[f"dial/{name}_at_{share:g}"] = summary[key]
    return figures


_DIAL_KEYS = ("oscillation_ratio", "crash_rate")


def tags(summary: dict[str, Any]) -> dict[str, Any]:
    """An evaluation's figures under SB3's tags where it has one, else under our own."""
    renamed = {
        "return": "eval/mean_reward",
        "return_std": "eval/std_reward",
        "length": "eval/mean_ep_length",
        "mu_mean": "train/mu_mean",
        "mu_under_0.05": "train/mu_under_0.05",
        "mu_over_0.95": "train/mu_over_0.95",
    }
    return {
        renamed.get(name, f"eval/{name}"): value
        for name, value in summary.items()
        if value is not None and name != "episodes"
    }
