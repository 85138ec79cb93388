"""The planner's figures that come with the package, for pictures of what is possible at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_inertia.actions.bucket import Limit
from policy_inertia.envs.registry import task_of
from policy_inertia.metrics.measures import OSCILLATION, Figures
from policy_inertia.run_settings import merge
from policy_inertia.storage import read_json

FOLDER = Path(__file__).parent / "edges"
LABEL = "planner that knows the future (an estimate from below)"
DEFAULTS: dict[str, dict[str, Any]] = {
    "policy_inertia/TwoWay-v0": {"config": {"scenario": "complex"}}
}
"""Arguments that an env has if nobody gives others, where a file names them."""


@dataclass(frozen=True)
class _Header:
    """The part of an edge's file that pictures need."""

    env: str
    env_kwargs: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    figures: dict[str, Figures]
    plans: list[dict[str, Any]]
    limit: Limit | None = None


def known_edge(env: str, env_kwargs: dict[str, Any]) -> list[Figures]:
    """The planner's figures within its budgets, from the smoothest on; empty for other tasks.

    Args:
        env: Gymnasium id.
        env_kwargs: The arguments of the env in evaluation.
    """
    for file in sorted(FOLDER.glob("*.json")):
        edge = read_json(file, _Header, "the planner's episodes")
        used = merge(task_of(env).eval_env_kwargs, edge.env_kwargs)
        task = edge.env == env and _complete(env, used) == _complete(env, env_kwargs)
        if task and edge.limit is None:
            return sorted(edge.figures.values(), key=lambda row: row[OSCILLATION.name] or 0.0)
    return []


def named_edge(env: str, env_kwargs: dict[str, Any]) -> dict[str, list[Figures]]:
    """The same by the name that pictures show for it; empty for other tasks."""
    rows = known_edge(env, env_kwargs)
    return {LABEL: rows} if rows else {}


def _complete(env: str, env_kwargs: dict[str, Any]) -> dict[str, Any]:
    return merge(DEFAULTS.get(env, {}), env_kwargs)
