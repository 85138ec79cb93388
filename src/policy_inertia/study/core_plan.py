"""A study of policies that another library trains: cores, and what is measured around them.

Nothing runs here. A study has cells, and a cell is a core on a task with what is measured. Every
seed of a cell trains one core and writes one record.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.study.plan import first_seeds

LOSS = 0.05
"""Largest loss that `smooth` allows, as a share of what the core gains over random actions."""
SHORTEST_CORE = 300  # env steps, so that a trial learns at least once


@dataclass(frozen=True)
class Core:
    """How a policy is trained.

    Attributes:
        algorithm: A class of Stable-Baselines3 or sb3-contrib.
        env: Gymnasium id.
        steps: Env steps of training.
        envs: Copies of the env.
        settings: Arguments of the class.
        env_kwargs: Arguments of the env.
    """

    algorithm: str
    env: str
    steps: int
    envs: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    env_kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A core and what is measured around it.

    Attributes:
        name: Name of its folder, and for `--only`.
        title: What tables call it.
        core: The core.
        measured: A name of `run.core_job.MEASUREMENTS`.
        budgets: Shares of the core's own movement or oscillation.
        episodes: Held-out episodes of each policy.
        calibration_episodes: Episodes for each setting in a calibration.
        steps: Env steps of a controller; 0 if none is trained.
        seeds: Only the first so many seeds of the study; None for all of them.
    """

    name: str
    title: str
    core: Core
    measured: str
    budgets: tuple[float, ...]
    episodes: int
    calibration_episodes: int
    steps: int = 0
    seeds: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as JSON: what decides about the figures of a seed."""
        values = asdict(self) | {"budgets": list(self.budgets)}
        return {name: value for name, value in values.items() if name not in ("title", "seeds")}

    def scaled(self, factor: float) -> Cell:
        """Return the cell with shorter training and fewer episodes."""
        steps = max(SHORTEST_CORE, round(self.core.steps * factor))
        settings = {
            name: max(1, round(value * factor)) if name == "learning_starts" else value
            for name, value in self.core.settings.items()
        }
        return dataclasses.replace(
            self,
            core=dataclasses.replace(self.core, steps=steps, settings=settings),
            episodes=max(2, round(self.episodes * factor)),
            calibration_episodes=max(2, round(self.calibration_episodes * factor)),
            steps=round(self.steps * factor),
        )


@dataclass(frozen=True)
class CoreStudy:
    """Cells that share their seeds."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]

    def scaled(self, factor: float) -> CoreStudy:
        """Return the study with all cells shortened by one factor."""
        if not 0 < factor <= 1 or math.isnan(factor):
            raise InputError(f"scale is {factor}: give a factor above 0 and up to 1, such as 0.01")
        cells = self.cells if factor == 1 else tuple(cell.scaled(factor) for cell in self.cells)
        return dataclasses.replace(self, cells=cells)

    def with_seeds(self, number: int) -> CoreStudy:
        """Return the study with its first `number` seeds; more seeds follow its highest one."""
        more = (max(self.seeds) + 1 + k for k in first_seeds(number))
        return dataclasses.replace(self, seeds=(*self.seeds, *more)[:number])

    def only(self, names: Sequence[str]) -> CoreStudy:
        """Return the study with only these cells; with all if `names` is empty."""
        known = [cell.name for cell in self.cells]
        for name in names:
            if name not in known:
                raise InputError(f"'{self.name}' has no cell '{name}'{nearest(name, known)}")
        if not names:
            return self
        cells = tuple(cell for cell in self.cells if cell.name in names)
        return dataclasses.replace(self, cells=cells)

    def runs(self, folder: Path) -> list[CoreRun]:
        """Return a run for each record, seed by seed: a stopped study has all cells alike."""
        return [
            CoreRun(cell, seed, folder / cell.name / f"seed-{seed}")
            for k, seed in enumerate(self.seeds)
            for cell in self.cells
            if cell.seeds is None or k < cell.seeds
        ]


@dataclass
class CoreRun:
    """One seed of a cell, and its progress as that of a `plan.Run`."""

    cell: Cell
    seed: int
    path: Path
    step: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    seconds: float = 0.0  # over all tries
    error: str | None = None
    traceback: str = ""
    state: str = "waiting"  # then running, done or failed

    @property
    def label(self) -> str:
        return f"{self.cell.title}, seed {self.seed}"

    @property
    def steps(self) -> int:
        """Env steps of training: about in proportion to the time that the run takes."""
        return self.cell.core.steps + self.cell.steps

    def config(self) -> dict[str, Any]:
        """Return the settings that the figures of its record belong to."""
        return {**self.cell.to_dict(), "seed": self.seed}
