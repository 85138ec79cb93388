"""The options of an Atari game, with ale-py's names where ale-py has them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, nearest, refuse_outside, shown


@dataclass(frozen=True)
class Options:
    """The options of a game. By default there are no sticky actions, and rewards are unchanged."""

    repeat_action_probability: float = 0.0
    """Sticky actions: the probability that a frame repeats the last action instead."""
    frameskip: int = 4
    """Number of frames for which an action is held."""
    noop_max: int = 30
    """A game begins with 0 to `noop_max` - 1 idle frames; its seed decides how many."""
    episodic_life: bool = False
    """A lost life ends the episode; the next episode continues the same game."""
    reward_clipping: bool = False
    """Replace rewards by their signs: -1, 0 or 1."""
    full_action_space: bool = False
    """Offer all 18 actions, also those that do nothing in this game."""
    stack: int = 4
    """Number of screens in an observation."""
    max_num_frames_per_episode: int = 108_000
    """The episode is truncated after this many frames (108,000 are half an hour)."""
    max_episode_steps: int | None = None
    """The episode is truncated after this many steps."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            kind, expected = _KINDS[str(field.type)]
            wrong_bool = isinstance(value, bool | np.bool_) and field.type != "bool"
            if wrong_bool or not isinstance(value, kind):
                raise InputError(f"{field.name} is {shown(value)}: it must be {expected}")
        refuse_outside(self, 0, 0.999, "repeat_action_probability")
        refuse_outside(self, 0, 100_000, "noop_max")
        refuse_outside(self, 1, 1_000, "frameskip", "stack")
        refuse_outside(self, 1, 2**31 - 1, "max_num_frames_per_episode")
        if self.max_episode_steps is not None:
            refuse_outside(self, 1, 2**31 - 1, "max_episode_steps")


_KINDS: dict[str, tuple[Any, str]] = {
    "float": (int | float | np.floating, "a number"),
    "int": (int | np.integer, "a whole number"),
    "int | None": (int | np.integer | None, "a whole number or None"),
    "bool": (bool | np.bool_, "True or False"),
}


def options_from(values: dict[str, Any]) -> Options:
    """Return options from keyword arguments; raise `InputError` for an unknown name."""
    known = {field.name for field in dataclasses.fields(Options)}
    for name in values:
        if name not in known:
            raise InputError(f"an Atari game has no option {shown(name)}{nearest(name, known)}")
    return Options(**values)
