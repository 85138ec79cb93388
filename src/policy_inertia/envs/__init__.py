"""Tasks: any Gymnasium env with discrete actions, and the few we keep settings for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .spaces import Spaces
from .transforms import Decisions
from .vector import EnvLike, Envs, Step, episode_seed, make_vector, name_of

__all__ = [
    "TASKS",
    "Decisions",
    "EnvLike",
    "Envs",
    "Spaces",
    "Step",
    "Task",
    "episode_seed",
    "make_vector",
    "name_of",
]


@dataclass(frozen=True)
class Task:
    """What we know of a task: a line about it, and settings that work, by the config's class.

    Where nothing is listed, the paper's settings for Highway are the defaults.
    """

    about: str
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    limit: float | None = None  # the best return there is, for the eye


TASKS: dict[str, Task] = {}
