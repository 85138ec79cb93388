"""Train a controller around a frozen core, and keep the best one that was evaluated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.calibration.measurements import Progress as Measuring
from policy_inertia.envs.making import EnvLike, name_of
from policy_inertia.errors import InputError
from policy_inertia.machine import free_memory
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_policy import spaces_around
from policy_inertia.policies.cores import Core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.spaces_with_core import core_identity
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.training.loop import Progress, run
from policy_inertia.training.run_folder import evaluated_policies

EVALUATIONS = 5  # in training, spread evenly; the best of them is kept
SETTINGS = {
    "eval_episodes": 10,  # few: the verdict has episodes of its own
    "final_episodes": 10,
    "batch_size": 256,  # large: a gate is only as good as its critics
}


class Asked(Protocol):
    """What `controller_settings` reads of what is asked for."""

    @property
    def kind(self) -> Any: ...
    @property
    def learned(self) -> Limit | None: ...
    @property
    def rules(self) -> Switching | None: ...


def method_name(mu: bool, limit: object, own: str = "") -> str:
    """The method that is trained around a core.

    Args:
        mu: Whether it is the paper's inertia.
        limit: What it learns to plan with; None for nothing.
        own: The method of these actions, where it is not that of one list of actions.
    """
    base = own or "smooth"
    return f"{base}-mu" if mu else base if limit is None else f"{base}-limit"


def _learned_costs(rules: Switching | None, mu: bool) -> dict[str, Any]:
    """The setting `costs` of a controller, row by row; the paper's inertia has none."""
    if rules is None or rules.costs is None or mu:
        return {}
    return {"costs": tuple(cost for row in rules.costs for cost in row)}


def controller_settings(
    env: EnvLike,
    actions: str,
    steps: int,
    mu: bool,
    asked: Asked,
    warmup: float,
    seed: int,
    changes: dict[str, Any],
) -> RunConfig:
    """The settings of the training run; `changes` win over all others."""
    limit = asked.learned
    if limit is not None and not mu:  # learn for this limit alone
        changes = {"rate": limit.rate, "largest_burst": float(limit.burst), **changes}
    return settings(
        method_name(mu, limit, asked.kind.controller),
        name_of(env),
        actions=actions,
        **{
            **SETTINGS,
            "steps": steps,
            "seed": seed,
            "eval_every": max(steps // EVALUATIONS, 1),
            "buffer_size": min(max(steps, 1_000), 200_000),
            "warmup": int(warmup * steps),
            "learning_starts": min(1_000, steps // 10),
            **_learned_costs(asked.rules, mu),
            **changes,
        },
    )


@dataclass(frozen=True)
class Training:
    """The training of a controller around a core.

    Attributes:
        config: Settings of the run.
        folder: The run's folder.
        env: The env.
        core: The core.
        resume: Go on with the run in that folder, if there is one.
        progress: Called after each evaluation.
        warn: Called with each warning.
        log: Names of trackers.
    """

    config: RunConfig
    folder: Path
    env: EnvLike
    core: Core | ContinuousCore
    resume: bool
    progress: Progress | None
    warn: Callable[[str], None]
    log: Sequence[str] = ()

    def run(self, calibrating: Measuring | None = None) -> list[Policy]:
        """Train a controller.

        Args:
            calibrating: Called as the last controller's calibration goes on.

        Returns:
            The controllers that were evaluated in training, the last one first. Only the last one
            has a calibration.

        Raises:
            InputError: The replay buffer does not fit into memory, or the folder holds another run.
        """
        config, spaces = self.config, spaces_around(self.core)
        refuse_large(spaces.spec.obs_dim, config.buffer_size)
        around: Any = config.config
        config = dataclasses.replace(
            config, config=dataclasses.replace(around, core=core_identity(self.core))
        )
        last = run(
            config,
            self.folder,
            self.env,
            self.resume and (self.folder / "run.json").exists(),  # else nothing is to be resumed
            self.progress,
            self.warn,
            spaces,
            keep_evaluated=True,
            calibrating=calibrating,
            log=self.log,
        )
        files = evaluated_policies(self.folder).items()
        earlier = [file for step, file in files if step < config.steps]
        return [last, *(Policy.load(file, self.core, trust=True) for file in earlier)]


def refuse_large(obs_dim: int, buffer_size: int) -> None:
    """Check that a replay buffer fits into memory.

    Raises:
        InputError: It does not.
    """
    need, free = 8.0 * obs_dim * buffer_size, free_memory()
    if need > free:
        raise InputError(
            f"observations of {obs_dim:,} numbers need {need / 1e9:.0f} GB of replay, "
            f"and {free / 1e9:.0f} GB of memory are free: give a smaller buffer_size, or "
            "hysteresis_only, which trains nothing"
        )
