"""The training loop: act and learn, evaluate, log and save, until the run is done."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from policy_inertia.calibration.measurements import Progress as Measuring
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.envs.making import EnvLike, copyable, name_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import DivergenceError, Stopped
from policy_inertia.evaluation.evaluate import evaluate, sampled_and_greedy
from policy_inertia.metrics.measures import select_measures
from policy_inertia.policies.policy import Policy
from policy_inertia.run_settings import RunConfig, action_kind, settings
from policy_inertia.schema import read_as
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.storage import FORMAT, finite, write_json
from policy_inertia.training.interruption import Interruption
from policy_inertia.training.loggers import JsonLines, Logger, TensorBoard
from policy_inertia.training.run_folder import RunFolder, evaluated_policy
from policy_inertia.training.saved_state import RunState
from policy_inertia.training.session import Session
from policy_inertia.training.trackers.service import TrackedRun
from policy_inertia.training.trackers.table import find_trackers, open_trackers

DIAL_SHARES = (0.0, 0.1, 1.0)
"""Where a dial is evaluated during training, as shares of its largest price."""
LIMIT_RATES = (0.1, 0.0)
"""Where a method that plans with limits is evaluated, with its largest burst; also without one."""

Progress = Callable[[int, dict[str, Any], float], None]
"""Called with the step, the newest figures and the steps per second since the start."""


def train(
    method: str,
    env: EnvLike,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    log: Sequence[str] = (),
    **changes: Any,
) -> Policy:
    """Train a method on an env and return the policy.

    Args:
        method: A name from `METHODS`, such as "nsac".
        env: A Gymnasium id, a function that makes an env, or an env, of which copies are made by
            its spec.
        out: The folder of the run; by default `runs/ENV-METHOD-SEED`.
        resume: Go on with the run in that folder.
        progress: Called at every evaluation and now and then between them.
        log: Names of trackers, such as "mlflow" (`training/trackers/table.py`).
        changes: Settings of the run (`steps`, `seed`, `envs`, ...) or of the method (`mu0`,
            `temperature`, ..., `core={...}`).
    """
    env, kwargs = copyable(env, changes.get("env_kwargs"))
    changes |= {"env_kwargs": kwargs} if kwargs else {}
    changes = {"actions": action_kind(method, env, kwargs), **changes}
    config = settings(method, name_of(env), **changes)
    folder = out or default_folder(config.env, config.method, config.seed)
    return run(config, folder, env, resume, progress, log=log)


def default_folder(env: str, method: str, seed: int) -> Path:
    """The folder of a run for which none is given."""
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
    loggers: Sequence[Logger] = (),
    keep_evaluated: bool = False,
    calibrating: Measuring | None = None,
    log: Sequence[str] = (),
) -> Policy:
    """Train as `config` says, in the folder `out`.

    Args:
        config: The run's settings.
        out: The run's folder.
        env: Needed for an env without a Gymnasium id: a function that makes one.
        resume: Go on from the last checkpoint. The run ends bit for bit like one that was never
            stopped. A folder without a checkpoint is started from step 0, with a warning.
        progress: Called at every evaluation and now and then between them.
        warn: Called with a sentence when something is not as asked and the run goes on.
        spaces: The spaces of a frozen core, whose outputs ride behind the observations.
        loggers: More loggers, beside `metrics.jsonl` and TensorBoard.
        keep_evaluated: Keep the policy of every evaluation (`run_folder.evaluated_policies`).
        calibrating: Called at the start and after each setting of the calibration.
        log: Names of trackers, such as "mlflow".

    Raises:
        Stopped: SIGINT or SIGTERM came. The run has saved a checkpoint, except after a second
            signal, which stops it at once.
    """
    env = env if env is not None else config.env
    find_trackers(log)  # before anything is made: a wrong name leaves nothing behind
    session = Session(config, env, spaces)  # before the folder: a bad env leaves nothing behind
    folder = RunFolder(Path(out), config.to_dict(), resume)
    try:
        with Interruption() as interruption:
            loop = Run(config, env, session, folder, progress, warn, loggers, log, interruption)
            loop.keep_evaluated, loop.calibrating = keep_evaluated, calibrating
            if resume and loop.saved is None:
                warn(f"{folder.path} has no checkpoint to resume: the run starts from step 0")
            return loop.finish()
    finally:
        folder.close()
        session.envs.close()


class Run:
    """One run under way: the session, its folder and its logs."""

    def __init__(
        self,
        config: RunConfig,
        env: EnvLike,
        session: Session,
        folder: RunFolder,
        progress: Progress | None,
        warn: Callable[[str], None],
        loggers: Sequence[Logger],
        log: Sequence[str],
        interruption: Interruption,
    ) -> None:
        self.config, self.session, self.folder = config, session, folder
        self.progress, self.warn, self.interruption = progress, warn, interruption
        self.keep_evaluated = False  # keep the policy of every evaluation
        self.calibrating: Measuring | None = None  # called after each setting of the calibration
        self.best, self.next_eval = -np.inf, 0
        self.saved: int | None = None  # the step of the newest checkpoint
        size = self._restore(env, warn)
        self.metrics = JsonLines(folder.path, size or 0, warn)
        logged = session.step - (session.step >= self.next_eval)  # the last step in the logs
        board = TensorBoard(folder.path, None if size is None else logged)
        tracked = open_trackers(log, TrackedRun(folder.path, config.to_dict()), warn)
        self.loggers: list[Logger] = [self.metrics, board, *loggers, *tracked]
        self.eval_envs = Envs(
            env, min(config.eval_episodes, 20), lambda i, k: 0, config.test_kwargs
        )
        self.started = self.last_save = time.perf_counter()
        self.first_step = session.step
        self.figures: dict[str, Any] = {}

    def _restore(self, env: EnvLike, warn: Callable[[str], None]) -> int | None:
        """Return to the last checkpoint; the bytes of `metrics.jsonl` then, None without one."""
        saved = self.folder.checkpoints.load(warn)
        if saved is None:
            return None
        if self.folder.changed_versions:
            warn(
                f"{self.folder.path} was started with other versions "
                f"({', '.join(self.folder.changed_versions)}): it goes on, but may not end bit for "
                "bit like a run of one version"
            )
        state = read_as(RunState, saved.state, saved.folder / "state.json")
        if not self.session.restore(saved.arrays, saved.records, state, saved.folder):
            warn(
                f"{name_of(env)} did not come back to its saved state (it is not deterministic "
                "given its seed): the running episodes go on from where they replayed to"
            )
        self.saved, self.next_eval = state.step, state.next_eval
        self.best = -np.inf if state.best is None else state.best
        return state.metrics_size

    def speed(self) -> float:
        """Env steps per second since the start."""
        return (self.session.step - self.first_step) / (time.perf_counter() - self.started)

    def finish(self) -> Policy:
        """Train until the last step, evaluate, and save the policy and the result."""
        try:
            try:
                self._train()
                policy = self._result()
            except Stopped as stop:
                raise self._saved_stop(stop) from None
        except BaseException:
            with contextlib.suppress(Exception):  # closing must not hide what went wrong
                self._close()
            raise
        self._close()
        return policy

    def _train(self) -> None:
        session, config = self.session, self.config
        if session.step >= self.next_eval:  # a new run, or one that was stopped while it evaluated
            self.evaluate()
            self._show_progress()
        while session.step < config.steps:
            self.interruption.check()
            session.advance()
            due = session.step >= min(self.next_eval, config.steps)
            if due:
                self.evaluate()
            if due or session.step % (32 * config.envs) == 0:
                self._show_progress()

    def _show_progress(self) -> None:
        if self.progress is not None:
            self.progress(self.session.step, self.figures, self.speed())

    def _saved_stop(self, stop: Stopped) -> Stopped:
        """Write a checkpoint, and return `stop` with a sentence that says how to go on."""
        step, how = f"step {self.session.step:,}", "the same command with --resume goes on"
        try:
            if self.interruption.hurried:  # between any two instructions: nothing can be saved
                raise stop
            if self.saved != self.session.step:
                self.warn(f"stopping: {step} is being saved; a second Ctrl-C stops at once")
                self._checkpoint()
        except Stopped as second:
            older = f"; {how} from step {self.saved:,}" if self.saved is not None else ""
            return Stopped(second.signal, f"stopped before {step} was saved{older}")
        return Stopped(stop.signal, f"stopped at {step}, which is saved; {how} from there")

    def _close(self) -> None:
        """Close the loggers and the envs; all of them, even if one fails."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.eval_envs.close)
            for logger in self.loggers:
                stack.callback(logger.close)

    def evaluate(self) -> None:
        """Evaluate and log the policy; save it if it is the best, and a checkpoint if due."""
        session, config = self.session, self.config
        self.next_eval = session.step  # a run that is stopped before the end of this starts with it
        policy = session.policy()
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(policy.params)):
            raise DivergenceError(
                f"training diverged before step {session.step} (the networks hold NaN): lower the "
                "learning rate or scale the rewards; the last checkpoint is untouched"
            )
        seed = stream_seed(config.seed, Stream.EVALUATION, session.step)
        with self.interruption.at_once():
            summary = evaluate(policy, self.eval_envs, config.eval_episodes, seed).summary()
            at_settings = self._setting_figures(policy, seed)
        self.figures = session.figures() | eval_figures(summary) | at_settings
        for logger in self.loggers:
            logger.log(session.step, self.figures, self.speed())
        if self.keep_evaluated:
            policy.save(evaluated_policy(self.folder.path, session.step))
        if summary["return"] > self.best:
            self.best = summary["return"]
            policy.save(self.folder.path / "best.safetensors")
        self.next_eval = (session.step // config.eval_every + 1) * config.eval_every
        now = time.perf_counter()
        if session.step >= config.steps or now - self.last_save >= config.checkpoint_seconds:
            self._checkpoint()
            self.last_save = now

    def _checkpoint(self) -> None:
        if self.saved == self.session.step:  # before its evaluation, which will be repeated
            return
        arrays, numbers = self.session.state()
        state = RunState(
            **vars(numbers),
            best=finite(float(self.best)),
            next_eval=self.next_eval,
            metrics_size=self.metrics.size,
        )
        replay = self.session.replay.state()
        self.folder.checkpoints.save(str(self.session.step), arrays, replay, asdict(state))
        self.saved = self.session.step

    def _setting_figures(self, policy: Policy, seed: int) -> dict[str, Any]:
        """The headline figures at a few settings, where one run gives every smoothness."""
        figures: dict[str, Any] = {}
        if policy.largest_price is not None:
            figures["dial/largest_price"] = policy.largest_price
        for name, adjusted in _adjusted(policy).items():
            episodes = self.config.eval_episodes
            summary = evaluate(adjusted, self.eval_envs, episodes, seed, True).summary()
            kind, _, setting = name.partition("/")
            for measure in select_measures([summary], "headline"):
                figures[f"{kind}/{measure.name}_at_{setting}"] = summary[measure.name]
        return figures

    def _result(self) -> Policy:
        """Calibrate, evaluate and save the last policy."""
        config, envs = self.config, self.eval_envs
        policy = self.session.policy()
        with self.interruption.at_once():
            if policy.traits.adjustable:
                episodes, seed = config.calibration_episodes, config.seed
                policy = calibrate(policy, envs, episodes, seed, progress=self.calibrating)
            final = (envs, config.final_episodes, stream_seed(config.seed, Stream.FINAL))
            result: dict[str, Any] = sampled_and_greedy(policy, *final)
            if policy.nested:
                result["core"] = evaluate(policy.core(), *final).summary()
        policy.save(self.folder.path / "policy.safetensors")
        if policy.calibration is not None:
            result["calibration"] = policy.calibration.to_dict()
        step = self.session.step
        write_json(self.folder.path / "result.json", {"format": FORMAT, "step": step, **result})
        return policy


def _adjusted(policy: Policy) -> dict[str, Policy]:
    """A policy at a few settings, by kind and setting; nothing if it has no such settings."""
    if policy.largest_price is not None:
        largest = policy.largest_price
        return {f"dial/{share:g}": policy.at(share * largest) for share in DIAL_SHARES}
    if policy.traits.limit:
        return {f"limit/{rate:g}": policy.with_setting(rate) for rate in LIMIT_RATES}
    return {}


def eval_figures(summary: dict[str, Any]) -> dict[str, Any]:
    """An evaluation's figures by the names that `metrics.jsonl` uses."""
    return {
        f"eval/{name}": value
        for name, value in summary.items()
        if value is not None and name != "episodes"
    }
