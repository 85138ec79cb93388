"""How a game is played: what `env_kwargs` may say, with ale-py's names where it has one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, nearest, refuse_outside


@dataclass(frozen=True)
class Options:
    """By default the ids ...-v4 of old: no sticky actions, and nothing done to the rewards."""

    repeat_action_probability: float = 0.0
    """Sticky actions: how probably a frame repeats the last action, whatever was asked."""
    frameskip: int = 4
    """Frames that an action is held for."""
    noop_max: int = 30
    """A game begins with fewer idle frames than this, drawn by its seed."""
    episodic_life: bool = False
    """A lost life ends the episode; the next goes on in the same game."""
    reward_clipping: bool = False
    """Rewards as -1, 0 or 1."""
    full_action_space: bool = False
    """All 18 actions, also those that do nothing in this game."""
    stack: int = 4
    """Screens in an observation."""
    max_num_frames_per_episode: int = 108_000
    """The episode is truncated after so many frames: half an hour."""
    max_episode_steps: int | None = None
    """The episode is truncated after so many steps."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            kind, expected = _KINDS[str(field.type)]
            wrong_bool = isinstance(value, bool | np.bool_) and field.type != "bool"
            if wrong_bool or not isinstance(value, kind):
                raise InputError(f"{field.name} is {value!r}: it must be {expected}")
        refuse_outside(self, 0, 0.999, "repeat_action_probability")
        refuse_outside(self, 0, None, "noop_max")
        refuse_outside(self, 1, None, "frameskip", "stack", "max_num_frames_per_episode")
        if self.max_episode_steps is not None:
            refuse_outside(self, 1, None, "max_episode_steps")


_KINDS: dict[str, tuple[Any, str]] = {
    "float": (int | float | np.floating, "a number"),
    "int": (int | np.integer, "a whole number"),
    "int | None": (int | np.integer | None, "a whole number or None"),
    "bool": (bool | np.bool_, "True or False"),
}


def options_from(values: dict[str, Any]) -> Options:
    """Options by their names."""
    known = {field.name for field in dataclasses.fields(Options)}
    for name in values:
        if name not in known:
            raise InputError(f"an Atari game has no option '{name}'{nearest(name, known)}")
    return Options(**values)
