"""A log of actions, without an env: what it holds, and how much its actions oscillate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policy_inertia.actions import kinds
from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError, shown
from policy_inertia.metrics.episodes import Episode, holds, switch_matrix
from policy_inertia.metrics.heads import oscillation_per_head
from policy_inertia.metrics.measures import Evaluation, Measure, action_measures
from policy_inertia.metrics.movement import fluctuation_per_dimension

MOST_ACTIONS = 1_000
"""Different actions of a log; more are no list of actions, but something else."""
MOST_STEPS = 100_000_000
"""Steps of a log, so that it fits into memory."""


@dataclass(frozen=True)
class ActionLog:
    """The actions of some episodes.

    Attributes:
        episodes: The actions of each episode, as `space` has them.
        space: The space of the actions.
        names: What the log calls the actions, in the order in which `space` counts them.
        layout: How the log was read, in a few words.
    """

    episodes: tuple[np.ndarray, ...]
    space: ActionSpace
    names: tuple[str, ...]
    layout: str

    @property
    def steps(self) -> int:
        """Number of steps of all episodes."""
        return sum(map(len, self.episodes))

    def __str__(self) -> str:
        n, lengths = len(self.episodes), {len(episode) for episode in self.episodes}
        steps = f"{min(lengths):,} to {max(lengths):,}" if len(lengths) > 1 else f"{max(lengths):,}"
        kinds_of = f"{len(self.names)} different action{'s' * (len(self.names) != 1)}"
        if self.space.shape:
            word, width = "head" if self.space.finite else "number", math.prod(self.space.shape)
            kinds_of = f"{width} {word}{'s' * (width != 1)} in an action"
        episodes = f"{n:,} episode{'s' * (n != 1)} of {steps} step{'s' * (max(lengths) != 1)}"
        return f"{self.layout}: {episodes}, {kinds_of}"


def log_of(
    episodes: Sequence[np.ndarray],
    layout: str,
    where: object = "the log",
    names: Sequence[str] | None = None,
) -> ActionLog:
    """Make a log of the actions of some episodes.

    Args:
        episodes: Numbers or texts, one array `(n,)` for each episode. NaN at the end of an episode
            is left out: tables are filled up with it where episodes differ in length.
        layout: How the log was read.
        where: What error messages call the log.
        names: Names of the actions, if the episodes hold places in this list.

    Raises:
        InputError: There are no actions, an action in mid-episode is NaN or infinite, or the
            actions are of no kind that is supported.
    """
    if not sum(map(len, episodes)):
        raise InputError(f"{where} holds no actions: expected at least one episode")
    if sum(map(len, episodes)) > MOST_STEPS:
        raise InputError(f"{where} holds more than {MOST_STEPS:,} actions: measure a part of it")
    if any(np.asarray(episode).dtype.kind == "U" for episode in episodes):
        episodes = [np.asarray(episode).astype(str) for episode in episodes]
    whole = [_without_end(np.asarray(e), where, k) for k, e in enumerate(episodes)]
    values = np.concatenate(whole)
    space, actions, called = kinds.from_values(values if names is None else np.array(names), where)
    if names is not None:
        actions = actions[values.astype(np.int64)]
    refuse_many(called, where)
    ends = np.cumsum([len(episode) for episode in whole])[:-1]
    return ActionLog(tuple(np.split(actions, ends)), space, called, layout)


def refuse_many(names: Sequence[str], where: object) -> None:
    """Raise an `InputError` if there are too many different actions."""
    if len(names) > MOST_ACTIONS:
        raise InputError(
            f"{where} holds more than {MOST_ACTIONS:,} different actions, such as "
            f"{shown(names[0])} and {shown(names[-1])}: check that these are the actions"
        )


def _without_end(actions: np.ndarray, where: object, number: int) -> np.ndarray:
    """The actions of an episode without NaN at its end."""
    if actions.dtype.kind not in "biufU":
        raise InputError(f"{where} holds {actions.dtype}: expected actions as numbers or texts")
    if actions.dtype.kind == "f":
        known = np.flatnonzero(~np.isnan(actions))
        actions = actions[: known[-1] + 1 if len(known) else 0]
        if not np.isfinite(actions).all():
            step = int(np.flatnonzero(~np.isfinite(actions))[0])
            raise InputError(
                f"{where} holds {actions[step]} at step {step} of episode {number}: only the end "
                "of an episode may be NaN or empty, so mend the log or cut it there"
            )
    if not len(actions):
        raise InputError(f"{where} holds no actions in episode {number}: remove the episode")
    return actions


@dataclass(frozen=True)
class Measurement:
    """What `measure` returns.

    Attributes:
        log: The actions.
        step_time: Seconds of a step; None if it is not known.
    """

    log: ActionLog
    step_time: float | None = None

    def __post_init__(self) -> None:
        if self.step_time is not None and not 0 < self.step_time < float("inf"):
            raise InputError(
                f"the step time is {self.step_time}: give the seconds of a step, such as 0.05"
            )

    @cached_property
    def evaluation(self) -> Evaluation:
        """The episodes; their returns and ends are not known."""
        unknown: Any = None
        return Evaluation(
            [Episode(unknown, e, unknown, None, self.log.space) for e in self.log.episodes]
        )

    @property
    def measures(self) -> list[Measure]:
        """The measures of actions alone that these have; in seconds too if the step time is
        known."""
        return [m for m in action_measures(self.step_time) if m.name in self.figures]

    @cached_property
    def figures(self) -> dict[str, float]:
        """Every measure that is known for these actions, by name."""
        measures = action_measures(self.step_time)
        figures = {measure.name: measure.compute(self.evaluation) for measure in measures}
        return {name: figure for name, figure in figures.items() if figure is not None}

    @cached_property
    def switch_matrix(self) -> np.ndarray:
        """Counts[i, j] of the action `names[j]` right after `names[i]`."""
        return switch_matrix(self.log.episodes, len(self.log.names))

    @cached_property
    def holds(self) -> np.ndarray:
        """For how many steps each action was held, over all episodes."""
        return np.concatenate([holds(e, self.log.space) for e in self.log.episodes])

    def summary(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "layout": self.log.layout,
            "episodes": len(self.log.episodes),
            "steps": self.log.steps,
            "step_time": self.step_time,
            **self.figures,
            **self._details(),
        }

    def _details(self) -> dict[str, Any]:
        if not self.log.space.finite:
            return self._movement()
        if self.log.space.shape:
            return {"oscillation_per_head": self.oscillation_per_head.tolist()}
        return self._switches()

    @cached_property
    def oscillation_per_head(self) -> np.ndarray:
        """The switches per step of each head of MultiDiscrete or MultiBinary actions."""
        return oscillation_per_head(self.evaluation.episodes)

    def _switches(self) -> dict[str, Any]:
        return {
            "actions": list(self.log.names),
            "switch_matrix": self.switch_matrix.tolist(),
        }

    def _movement(self) -> dict[str, Any]:
        space: Any = self.log.space
        return {
            "low": list(space.low),
            "high": list(space.high),
            "fluctuation_per_dimension": self.fluctuation_per_dimension.tolist(),
        }

    @cached_property
    def fluctuation_per_dimension(self) -> np.ndarray:
        """The action fluctuation of each number of a continuous action, over the episodes."""
        figures = [fluctuation_per_dimension(episode) for episode in self.log.episodes]
        known = [figure for figure in figures if figure is not None]
        return np.mean(known, axis=0) if known else np.full(self.log.space.shape, np.nan)

    def __str__(self) -> str:
        lines = [f"{m.title}: {m.show(self.figures[m.name])}" for m in self.measures]
        return "\n".join([str(self.log), *lines])
