"""The planner's episodes as a JSON file that can be committed and read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.errors import InputError
from policy_inertia.machine import commit, versions
from policy_inertia.metrics.episodes import Episode
from policy_inertia.planner.upper_edge import BUDGETS, Plans, UpperEdge
from policy_inertia.storage import FORMAT, read_json, write_json


@dataclass(frozen=True)
class _StoredPlans:
    """The plans of one start; the lists have an entry for each episode, actions as digits."""

    seed: int
    width: int
    settled: bool
    returns: list[float]
    terminated: list[bool]
    crashed: list[bool]
    actions: list[str]

    def __post_init__(self) -> None:
        lengths = {len(x) for x in (self.returns, self.terminated, self.crashed, self.actions)}
        if len(lengths) > 1 or lengths == {0} or not all(a.isdecimal() for a in self.actions):
            raise InputError(f"the episodes of seed {self.seed} are not complete")


@dataclass(frozen=True)
class _StoredEdge:
    """The contents of the file; `figures` repeats what the episodes give, for readers."""

    env: str
    env_kwargs: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    figures: dict[str, dict[str, float | None]]
    plans: list[_StoredPlans]
    limit: Limit | None = None


def save_edge(edge: UpperEdge, path: Path, budgets: Sequence[float] = BUDGETS) -> None:
    """Write the figures within these budgets, and all episodes."""
    plans = [
        _StoredPlans(
            p.seed,
            p.width,
            p.settled,
            [e.return_ for e in p.episodes],
            [e.terminated for e in p.episodes],
            [bool(e.crashed) for e in p.episodes],
            ["".join(map(str, e.actions.tolist())) for e in p.episodes],
        )
        for p in edge.plans
    ]
    about = (edge.env, edge.env_kwargs, versions(), commit(), edge.figures(budgets))
    write_json(path, {"format": FORMAT, **asdict(_StoredEdge(*about, plans, edge.limit))})


def load_edge(path: Path) -> UpperEdge:
    """Read a file of `save_edge`.

    Raises:
        InputError: the file is damaged or holds something else.
    """
    stored = read_json(path, _StoredEdge, "a planner's episodes")
    plans = [
        Plans(
            p.seed,
            p.width,
            p.settled,
            tuple(
                Episode(r, np.array([int(a) for a in actions]), terminated, crashed)
                for r, terminated, crashed, actions in zip(
                    p.returns, p.terminated, p.crashed, p.actions, strict=True
                )
            ),
        )
        for p in stored.plans
    ]
    return UpperEdge(stored.env, stored.env_kwargs, tuple(plans), stored.limit)
